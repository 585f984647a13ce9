# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Shared by the scripts of this folder (sourced). Sets
#   PP_TOP    the repository
#   PP_BUILD  where everything is built; $PP_TOP/build leads there

PP_TOP=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../.." && pwd -P)
PP_SCRIPTS=$PP_TOP/tools/testing/page_pool
PP_ME=${0##*/}
export PP_TOP PP_SCRIPTS
export LC_ALL=C.UTF-8

pp_say() { printf '%s\n' "$*"; }
pp_die() { printf '%s: %s\n' "$PP_ME" "$*" >&2; exit 1; }

# A directory for caches that this user can write, whatever HOME says.
pp_cache() {
	local d
	for d in "${XDG_CACHE_HOME:-}" "${HOME:+$HOME/.cache}" "/var/tmp/cache-$(id -u)"; do
		# The kernel's make takes neither blanks nor colons in a path.
		case $d in /*[[:space:]:]*|[!/]*|'') continue ;; esac
		if mkdir -p "$d" 2>/dev/null && [ -w "$d" ]; then
			printf '%s\n' "$d"
			return
		fi
	done
	pp_die "no writable cache folder (XDG_CACHE_HOME, HOME and /var/tmp tried)"
}

# The build folder is $PP_TOP/build, or where PP_BUILD says. The kernel cannot be
# built below a path with a blank or a colon: from there build/ leads to a cache.
pp_build_dir() {
	local link=$PP_TOP/build id
	if [ -z "${PP_BUILD:-}" ]; then
		if [ -e "$link" ] || [ -L "$link" ]; then
			PP_BUILD=$(readlink -m "$link")
		else
			case $PP_TOP in
			*[[:space:]:]*)
				id=$(printf %s "$PP_TOP" | cksum)
				PP_BUILD=$(pp_cache)/page_pool/${id%% *} ;;
			*)	PP_BUILD=$link ;;
			esac
		fi
	fi
	case $PP_BUILD in
	/*) ;;
	*) PP_BUILD=$PWD/$PP_BUILD ;;
	esac
	case $PP_BUILD in
	*[[:space:]:]*)
		pp_die "PP_BUILD=$PP_BUILD: the kernel does not build below a blank or colon" ;;
	esac
	mkdir -p "$PP_BUILD" || pp_die "cannot make $PP_BUILD"
	PP_BUILD=$(readlink -f "$PP_BUILD")
	# Every other script finds the folder at its place in the repository.
	if [ "$(readlink -f "$link")" != "$PP_BUILD" ]; then
		if [ -L "$link" ] || [ ! -e "$link" ]; then
			ln -sfn "$PP_BUILD" "$link" || pp_die "cannot link $link to $PP_BUILD"
		fi
	fi
	mkdir -p "$PP_BUILD/log"
	export PP_BUILD
}

# Variables of the kernel's make that are the same for every build: fixed stamps
# make images reproducible, and let ccache hit from one folder to the next.
pp_make_vars() {
	export KBUILD_BUILD_TIMESTAMP=1970-01-01 KBUILD_BUILD_USER=pp KBUILD_BUILD_HOST=pp
	export KBUILD_BUILD_VERSION=1
	PP_JOBS=${PP_JOBS:-$(($(nproc) + 1))}
	PP_CC=gcc
	if command -v ccache >/dev/null; then
		: "${CCACHE_DIR:=$(pp_cache)/ccache}"
		export CCACHE_DIR CCACHE_NOHASHDIR=1
		PP_CC="ccache gcc"
	fi
}

# pp_arch NAME: what a kernel of that name is built for. Sets
#   PP_ARCH   as the kernel's make names it
#   PP_CROSS  the prefix of its compiler
#   PP_IMAGE  the image, in its output folder
# shellcheck disable=SC2034 # for who sources this
pp_arch() {
	PP_CROSS=''
	case $1 in
	i386|users-i386) PP_ARCH=i386 PP_IMAGE=arch/x86/boot/bzImage ;;
	arm64|users-arm64)
		PP_ARCH=arm64 PP_CROSS=aarch64-linux-gnu- PP_IMAGE=arch/arm64/boot/Image ;;
	arm|users-arm)
		PP_ARCH=arm PP_CROSS=arm-linux-gnueabihf- PP_IMAGE=arch/arm/boot/zImage ;;
	s390x)	PP_ARCH=s390 PP_CROSS=s390x-linux-gnu- PP_IMAGE=arch/s390/boot/bzImage ;;
	*)	PP_ARCH=x86_64 PP_IMAGE=arch/x86/boot/bzImage ;;
	esac
}

# pp_kmake O ARGS…: the kernel's make with an output folder, for the architecture
# that pp_arch has set. PP_TREE is another source tree than that with the series.
pp_kmake() {
	local o=$1 arch=()
	shift
	[ "${PP_ARCH:-x86_64}" = x86_64 ] || arch=(ARCH="$PP_ARCH" CROSS_COMPILE="$PP_CROSS")
	make -s -C "${PP_TREE:-$PP_BUILD/linux}" O="$o" "${arch[@]}" \
		CC="${PP_CC%gcc}${PP_CROSS:-}gcc" -j"$PP_JOBS" "$@" </dev/null
}
