# What there is to do here; CONTRIBUTING.md says more. `make` alone lists it.
.DELETE_ON_ERROR:
.PHONY: help run demo test bench fuzz interop loom sanitize lint build page book package faults soak

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

EDISON = $(or $(CARGO_TARGET_DIR),target)/release/edison
# What `make run` measures: traffic with a flood and a scan at NodeX, and the taps of a path whose second hop loses packets.
DEMO = run/demo.pcap
DEMO_TRAFFIC = packets=2M,flows=300k,zipf=1.0,size=64:7/594:4/1518:1,snap=96,plant=flood/scan/elephant
DEMO_PATH = run/path.pcap
DEMO_PATH_TRAFFIC = connections=400,segments=200,over=28s,hops=3,lossy=2,loss=1%
DEMO_NODES = NodeX=$(DEMO) Node1=run/path.tap1.pcap Node2=run/path.tap2.pcap
DEMO_QUERIES = -f examples/example1.eq -f examples/locate.eq

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

# It needs no broker: the program is built without one, unless it is there with one already.
LIGHT = $(shell $(EDISON) controller --help >/dev/null 2>&1 || echo --no-default-features --features dpdk,web)
run: ## who is flooded and where packets are lost; or your own capture: make run SOURCE=my.pcap
	@scripts/install build
	cargo build --release $(LIGHT)
	@if [ -n "$$SOURCE" ]; then $(EDISON) run "$$SOURCE"; else $(MAKE) --no-print-directory tour; fi

.PHONY: tour
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

demo: build ## two probes, a broker, a controller and the page, on a path that loses packets; needs root
	@scripts/install demo
	@scripts/demo --hold

page: ## the page anew: page/dist; needs Node 20.19 or later
	cd page && npm ci --no-audit --no-fund && npm run build && npm run types

book: ## the documentation as a site, its links checked: target/book/site
	@scripts/install book
	@scripts/book

build: ## the program, optimised: target/release/edison
	@scripts/install build
	cargo build --release

test: ## all tests; EDISON_TEST_DATA=FOLDER adds those on real captures
	@scripts/install build test
	@[ -n "$$EDISON_TEST_DATA" ] || echo 'EDISON_TEST_DATA is not set: the tests that measure real captures are left out'
	@scripts/test

faults: build ## each fault of a deployment ten times, and what it loses: docs/faults.md; needs root and half an hour
	@scripts/install faults
	scripts/faults --markdown docs/faults.md

package: ## Debian packages: run/edison-common_….deb, run/edison-dpdk_….deb
	@scripts/install build package
	@scripts/package run

interop: ## other programs: Kafka, which is killed; each engine over one store: DuckDB, pandas, pyarrow, chDB behind an HTTP front, a Spark cluster; installs a gigabyte
	@scripts/install build interop
	cargo build --release --features kafka
	@scripts/kafka-delivery $(EDISON)
	@scripts/store-engines --all

bench: build ## the project's own measurements, each answer checked
	@scripts/install bench
	@for name in $$($(EDISON) bench --list | cut -d ' ' -f 1); do $(EDISON) bench $$name || exit; done

fuzz: ## fuzz each target for FUZZ_SECONDS (60)
	@scripts/install build fuzz
	@scripts/fuzz $(NIGHTLY) $(FUZZ_SECONDS)

# A separate folder: every crate is built with another flag.
loom: export RUSTFLAGS = --cfg loom
loom: export LOOM_MAX_PREEMPTIONS ?= 3
loom: ## shared state under every order of events that the memory model allows
	cargo test --package summary --lib --target-dir $(or $(CARGO_TARGET_DIR),target)/loom loom_tests

# How many page faults a test counts depends on the allocator, which the sanitizer replaces.
sanitize: export RUSTFLAGS = -Zsanitizer=address
sanitize: ## the suites of the crates with unsafe code under AddressSanitizer
	@scripts/install build test
	cargo +$(NIGHTLY) test --package packet --package summary --package engine --package port --all-targets --no-fail-fast \
		--target x86_64-unknown-linux-gnu --target-dir $(or $(CARGO_TARGET_DIR),target)/sanitize \
		-- --skip steps_ahead_cost_no_page_faults

soak: build ## a live link measured for SOAK_SECONDS (1200), then SOAK_CASES (75) times 4 random captures; needs root
	@scripts/install build test
	@scripts/soak $(EDISON) $(SOAK_SECONDS) $(SOAK_RATE)
	EDISON_CASES=$(SOAK_CASES) cargo test --test it differential::

lint: export RUSTDOCFLAGS = -D warnings
lint: ## formatting, clippy, documentation: warnings are errors
	@scripts/install build
	scripts/cycles
	scripts/links
	scripts/api-reference --check
	cargo fmt --check
	cargo fmt --check --manifest-path fuzz/Cargo.toml
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --workspace --all-targets --no-default-features -- -D warnings
	cargo clippy --package edison --bin edison --features kafka -- -D warnings
	cargo clippy --manifest-path fuzz/Cargo.toml --bins --target-dir $(or $(CARGO_TARGET_DIR),target) -- -D warnings
	cargo doc --workspace --no-deps --document-private-items
