# SPDX-License-Identifier: GPL-2.0
#
# The series' own Makefile: it never lands in a kernel tree. Everything is done by
# the scripts in tools/testing/page_pool; `make help` lists the targets.

S := tools/testing/page_pool
KERNEL ?= plain

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

# A name=value of the command line reaches the scripts as environment.
export TARBALL PP_BUILD NETIF VANILLA BOOT

help: ## this list (default)
	@echo 'Linux page_pool with statistics, a series over 6.12 LTS. Start with: make run'
	@echo
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p; s/^#> \(.*\)/          \t\1/p' \
		Makefile | expand -t 16
	@echo
	@echo '  TARBALL=FILE  another 6.12.y source archive than that of linux-source-6.12'
	@echo '  PP_BUILD=DIR  build there (build/ leads to it). The kernel does not build below a'
	@echo '                path with a blank or colon: from there build/ leads to your cache.'

deps: ## install what is missing of the Debian packages needed (apt-get, sudo)
	@$(S)/deps

kernel: ## unpack, lay the series over, configure and build
#> KERNEL=plain (default), debug, nostats or all
	@$(S)/kernel $(KERNEL)

run: deps ## boot our kernel, send traffic through e1000e and veth, show the counters
	@$(S)/kernel plain
	@$(S)/run-demo

test: deps ## unit, check (quick part), selfcheck, kunit, selftest and ppstat
#> on the debug and the statistics-off kernel
	@$(S)/test

unit: ## fast checks on the host: scripts, configurations, the overlay
	@$(S)/test unit

kunit: ## the KUnit suite in guests
	@$(S)/test kunit

selftest: ## the kernel selftests in guests, on real NIC models
	@$(S)/test selftest

mutants: deps ## put faults into the page pool one by one: is each caught?
#> KUNIT=1 also those that only KUnit cases catch
	@$(S)/native/mutants $(if $(KUNIT),--kunit) $(ONLY)

test-long: ## what takes too long for every change, hours in all
#> ONLY="prometheus native" runs these of tools/testing/page_pool/long; PERCENT=1 for a try
	@ONLY='$(ONLY)' PERCENT='$(PERCENT)' $(S)/test long

soak: deps ## all traffic and all changes at the same time, under KASAN
#> MINUTES=30 (default)
	@$(S)/soak $(MINUTES)

ppstat: deps ## build ppstat, which shows page pools: build/ppstat/ppstat (ppstat.8)
	@$(S)/ppstat-build

test-matrix: ## KUnit and some selftests on kernels of many configurations; resumes
#> NAME="rt i386" tests these; each that is new takes minutes to build
	@$(S)/deps matrix && $(S)/matrix $(NAME)

drivers: ## all users of page pools compile against ours, on four architectures
	@$(S)/deps matrix && $(S)/drivers $(ARCHES)

bench-kernel: ## instructions per page in a kernel, the base's page pool and ours
	@$(S)/bench-kernel

check: deps ## what a maintainer's bot would run, as one table
	@$(S)/check

series: deps ## mails of the series: build/series, each group with a cover letter
#> REROLL=2 is v2; SUBJECT='PATCH net-next' instead of 'RFC net-next'; LINK=URL of the
#> repository. What goes to which patch: tools/testing/page_pool/series/manifest
	@$(S)/series/series --reroll '$(or $(REROLL),1)' --prefix '$(or $(SUBJECT),RFC net-next)' \
		$(if $(LINK),--link '$(LINK)')

series-check: deps ## git am of it, patch by patch: the trees are right, what is touched builds
#> VANILLA=DIR or archive of another 6.12 tree, too; BOOT=1 boots each prefix
	@$(S)/kernel -u && $(S)/series/series-check

deb: ## Debian packages of the patched kernel: make deb CONFIG=/boot/config-...
#> LOCALVERSION=-pagepool is the end of its version
	@$(S)/deb '$(CONFIG)'

bench: deps ## the page pool beside the base's, natively: cycles and instructions per page
#> ONLY="fast ring" measures these lines
	@$(S)/bench/bench $(ONLY)

bench-instr: deps ## only the instructions, by callgrind
	@$(S)/bench/bench --instr $(ONLY)

bench-scale: ## what a model says of 4 to 128 CPUs, beside what was published
	@$(S)/bench/scale

apply: ## lay the series over your own 6.12 tree: make apply KDIR=/path/to/linux
	@test -n '$(KDIR)' || { echo 'apply: say KDIR=/path/to/a/6.12/tree' >&2; exit 1; }
	@$(S)/overlay apply '$(KDIR)'

refresh: ## make .patch files of what was edited in build/linux
	@$(S)/refresh

clean: ## remove everything built (refuses when build/linux has edits; FORCE=1)
	@$(S)/clean $(if $(FORCE),-f)

.PHONY: help deps kernel run test unit kunit selftest check mutants test-long test-matrix drivers
.PHONY: series series-check ppstat soak deb bench bench-instr bench-kernel bench-scale apply refresh clean
