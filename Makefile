# What there is to do here; CONTRIBUTING.md says more. `make` alone lists it.
.DELETE_ON_ERROR:
.PHONY: help install run demo test bench fuzz interop loom sanitize lint build page book package faults soak nightly same instructions

# A capture of your own: make run SOURCE=my.pcap
SOURCE =
# Seconds for each target of `make fuzz`, and the toolchain that can fuzz and sanitize
FUZZ_SECONDS = 60
NIGHTLY = nightly
# Length of `make soak`, seconds, and the rate that it sends at
SOAK_SECONDS = 1200
SOAK_RATE = 50kpps
# Random captures of `make soak`: so many times the four of `make test`
SOAK_CASES = 75

TARGET = $(or $(CARGO_TARGET_DIR),target)
EDISON = $(TARGET)/release/edison
# Where `make install` puts the program
PREFIX = /usr/local
LAB = $(TARGET)/release/edison-lab
# What `make run` measures: traffic with a flood and a scan at NodeX, and the taps of a path whose second hop loses packets.
DEMO = run/demo.pcap
DEMO_TRAFFIC = packets=2M,flows=300k,zipf=1.0,size=64:7/594:4/1518:1,snap=96,plant=flood/scan/elephant
DEMO_PATH = run/path.pcap
DEMO_PATH_TRAFFIC = connections=400,segments=200,over=28s,hops=3,lossy=2,loss=1%
DEMO_NODES = NodeX=$(DEMO) Node1=run/path.tap1.pcap Node2=run/path.tap2.pcap
DEMO_QUERIES = -f examples/example1.eq -f examples/locate.eq

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

run: ## who is flooded and where packets are lost; or your own capture: make run SOURCE=my.pcap
	@scripts/install build
	@scripts/quick
	@$(MAKE) --no-print-directory $(if $(SOURCE),measure,tour) EDISON="$$(scripts/quick --path)"

.PHONY: measure tour
measure:
	@$(EDISON) run "$$SOURCE"

tour: $(DEMO) $(DEMO_PATH).truth.json
	@echo '$$ $(EDISON) run $(DEMO_NODES) $(DEMO_QUERIES)'
	@$(EDISON) run $(DEMO_NODES) $(DEMO_QUERIES)
	@scripts/explain $(DEMO).truth.json $(DEMO_PATH).truth.json
	@scripts/next $(EDISON) $(DEMO)

$(DEMO):
	@mkdir -p $(@D)
	@$(EDISON) generate $@ $(DEMO_TRAFFIC)

$(DEMO_PATH).truth.json:
	@mkdir -p $(@D)
	@$(EDISON) generate $(DEMO_PATH) --path $(DEMO_PATH_TRAFFIC)

demo: build ## two probes, a broker, a controller and the page, on a path that loses packets; asks sudo for root
	@scripts/install demo
	@$(if $(filter 0,$(shell id -u)),,sudo) env EDISON=$(abspath $(EDISON)) scripts/demo --hold

page: ## the page anew: page/dist; needs Node 20.19 or later
	cd page && npm ci --no-audit --no-fund && npm run build && npm run types && npm run words

book: ## the documentation as a site, its links checked: target/book/site
	@scripts/install book
	@scripts/book

build: ## the program, optimised: target/release/edison
	@scripts/install build
	@scripts/build --release

install: ## the program of `make build` to /usr/local/bin, its debugging information to /usr/local/lib/debug (PREFIX, DESTDIR)
	@[ -x $(EDISON) ] || { echo "make install: there is no $(EDISON): make build" >&2; exit 1; }
	@mkdir -p $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/debug 2>/dev/null && [ -w $(DESTDIR)$(PREFIX)/bin ] || \
		{ echo "make install: $(DESTDIR)$(PREFIX) cannot be written: sudo make install, or make install PREFIX=FOLDER" >&2; exit 1; }
	@scripts/strip-program $(EDISON) $(DESTDIR)$(PREFIX)/bin/edison $(DESTDIR)$(PREFIX)/lib/debug

test: ## all tests; EDISON_TEST_DATA=FOLDER adds those on real captures
	@scripts/install build test
	@[ -n "$$EDISON_TEST_DATA" ] || echo 'EDISON_TEST_DATA is not set: the tests that measure real captures are left out'
	@scripts/test

faults: build ## each fault of a deployment ten times, and what it loses: docs/faults.md; needs root and half an hour
	@scripts/install faults
	scripts/faults --markdown docs/faults.md

package: ## Debian packages: run/edison-common_….deb, run/edison-dpdk_….deb, run/edison-lab_….deb, run/edison-dbgsym_….deb
	@scripts/install build package
	@scripts/package run

interop: ## other programs: a Kafka that is killed and started again; each engine over one store: DuckDB, pandas, pyarrow, chDB behind an HTTP front, a Spark cluster; installs a gigabyte
	@scripts/install build interop
	@scripts/build --release --features kafka
	@scripts/kafka-delivery $(EDISON)
	@scripts/store-engines --all

bench: build ## the project's own measurements, each answer checked
	@scripts/install bench
	@scripts/build --release --package edison-lab
	@for name in $$($(LAB) bench --list | cut -d ' ' -f 1); do $(LAB) bench $$name || exit; done

fuzz: ## fuzz each target for FUZZ_SECONDS (60)
	@scripts/install build fuzz
	@scripts/fuzz $(NIGHTLY) $(FUZZ_SECONDS)

same: ## 1,000 random command lines: this checkout answers as the commit in tests/same_answers/intended.toml does
	@scripts/install build test
	@scripts/same-answers

instructions: ## how many instructions a packet takes, compared with results/instructions.toml: callgrind
	@scripts/install build instructions
	@scripts/build --profile quick
	@EDISON=$(TARGET)/quick/edison scripts/instructions

# A separate folder: every crate is built with another flag.
loom: export RUSTFLAGS = --cfg loom
loom: export LOOM_MAX_PREEMPTIONS ?= 3
loom: ## shared state under every order of events that the memory model allows
	cargo test --package arena --package sketch --package flowtable --lib --target-dir $(or $(CARGO_TARGET_DIR),target)/loom loom_tests

# How many page faults a test counts depends on the allocator, which the sanitizer replaces.
sanitize: export RUSTFLAGS = -Zsanitizer=address
# Leaks of libraries that the crates are linked with.
sanitize: export LSAN_OPTIONS = suppressions=$(CURDIR)/crates/port/tests/leaks.txt
sanitize: ## the suites of the crates with unsafe code under AddressSanitizer
	@scripts/install build test
	cargo +$(NIGHTLY) test --package packet --package arena --package flowtable --package sketch --package tcp --package engine --package port --all-targets --no-fail-fast \
		--target x86_64-unknown-linux-gnu --target-dir $(or $(CARGO_TARGET_DIR),target)/sanitize \
		-- --skip steps_ahead_cost_no_page_faults

soak: build ## a live link measured for SOAK_SECONDS (1200), then SOAK_CASES (75) times 4 random captures; needs root
	@scripts/install build test
	@scripts/soak $(EDISON) $(SOAK_SECONDS) $(SOAK_RATE)
	EDISON_CASES=$(SOAK_CASES) cargo test --test it differential::

nightly: ## what takes too long for each change: long fuzzing, benches, packages, the oldest compiler; needs root and some hours
	@scripts/nightly

lint: export RUSTDOCFLAGS = -D warnings
lint: ## formatting, clippy of every set of features, documentation: warnings are errors, with the compiler that CONTRIBUTING.md names
	@scripts/install build
	scripts/cycles
	scripts/rooms
	scripts/papers
	scripts/links
	scripts/api-reference --check
	@scripts/lint

