# What can be done here; every target stands on its own.

.DEFAULT_GOAL := help
.PHONY: help setup build demo test vm-test lint fuzz deny soak bench clean

help: ## Show this
	@echo 'make TARGET, where TARGET is one of'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | \
		while IFS='	' read -r target text; do printf '  %-8s %s\n' "$$target" "$$text"; done

setup: ## Install what the build needs and this machine lacks (Debian, Ubuntu)
	@bash scripts/setup.sh

build: setup ## Build the release binaries, target/release/daos and daos-eval
	@. scripts/as_root.sh && cargo build --release -p daos -p daos-eval

demo: ## Watch a real program for some twenty seconds and show what was seen
	@bash scripts/demo.sh

test: setup ## Check format, lints and docs, and run all tests (as root: all of them)
	@bash scripts/test.sh

vm-test: setup ## Try daos on Debian's 6.1 and 6.12 kernels in virtual machines
	@bash scripts/vm-test.sh

lint: setup ## Check format, lints and docs only
	@bash scripts/test.sh lint

TIME ?= 1m
fuzz: setup ## Look for input that breaks a parser, with libFuzzer, each for TIME (TIME=1h)
	@bash scripts/fuzz.sh $(TIME)

deny: setup ## Check licences, sources and known faults of the crates; installs cargo-deny
	@bash scripts/deny.sh install

soak: setup ## Watch and manage changing programs for TIME (TIME=1h): memory, descriptors, CPU
	@bash scripts/soak.sh $(TIME)

bench: setup ## Measure the core
	@. scripts/as_root.sh && cargo bench --workspace

clean: ## Remove what build, demo and tests made
	cargo clean
	rm -rf target-root demo-output
