# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of ppstat for bash.

_ppstat()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local words

	case $prev in
	-d|--dev)
		words=$(cd /sys/class/net && echo *) ;;
	-n|--netns)
		words=$(cd /run/netns 2>/dev/null && echo *) ;;
	--count)
		words= ;;
	*)
		words="list monitor hints -s --stats -c --cpu -z --dying -d --dev
			-n --netns -w --watch --count -j --json --openmetrics
			-h --help"
		[[ $cur == -* ]] || words="list monitor hints" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _ppstat ppstat
