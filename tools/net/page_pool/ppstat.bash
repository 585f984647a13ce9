# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of ppstat for bash.

_ppstat()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local words command="" opts word last=""

	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $last in
		-d|--dev|-n|--netns|--count)
			;;
		*)
			case $word in
			list|monitor|hints|leaks) command=$word ;;
			esac ;;
		esac
		last=$word
	done
	opts="-z --dying -d --dev -n --netns -j --json -h --help"
	case $command in
	""|list)
		opts+=" -s --stats -c --cpu -w --watch --count --openmetrics" ;;
	hints)
		opts+=" -w --watch" ;;
	leaks)
		opts+=" --no-scan" ;;
	esac

	case $prev in
	-d|--dev)
		words=$(cd /sys/class/net && echo *) ;;
	-n|--netns)
		words=$(cd /run/netns 2>/dev/null && echo *) ;;
	--count)
		words= ;;
	*)
		if [[ $cur == -* ]]; then
			words=$opts
		elif [[ $prev == leaks ]]; then
			words=$(ppstat -j 2>/dev/null |
				sed -n 's/^ *"id": \([0-9]*\),$/\1/p')
		elif [[ $command ]]; then
			words=
		else
			words="list monitor hints leaks"
		fi ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _ppstat ppstat
