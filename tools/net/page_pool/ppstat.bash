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
	leaks)
		words=$(ppstat -j 2>/dev/null | sed -n 's/^ *"id": \([0-9]*\),$/\1/p') ;;
	*)
		words="list monitor hints leaks -s --stats -c --cpu -z --dying
			-d --dev -n --netns -w --watch --count -j --json
			--openmetrics --no-scan -h --help"
		[[ $cur == -* ]] || words="list monitor hints leaks" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _ppstat ppstat
