# Needs cargo, Python 3.10 or later and Node.js 20 or later; sets up everything
# else inside this folder. A step whose inputs have not changed is not redone.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
STAMPS := $(TARGET)/stamps
BIN := $(CURDIR)/.venv/bin
VECTORS := tests/vectors
# The bindings are built as a wheel and as an addon, and tested from there.
CRATES := --locked --workspace --exclude rampmeter-python --exclude rampmeter-node --all-features

# Folders count too: they change when a file comes or goes.
tree = $(shell find $(1) \( -name node_modules -o -name __pycache__ -o -name tests \) -prune -o \
	\( -type d -o -name '*.rs' -o -name '*.toml' -o -name '*.json' -o -name '*.py' -o -name '*.pyi' \) -print 2>/dev/null)
CORE := Cargo.toml Cargo.lock README.md $(call tree,core tools)
WHEEL := pyproject.toml $(CORE) $(call tree,bindings-python)
ADDON := package.json $(CORE) $(call tree,bindings-node/src) bindings-node/Cargo.toml bindings-node/build.rs

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

# ---------------------------------------------------------------- building

.PHONY: build
build: $(STAMPS)/wheel $(STAMPS)/addon rust-programs ## build the Rust programs, the wheel and the addon

.venv/installed: tests/requirements.txt
	$(PYTHON) -c 'import sys; sys.exit("Python 3.10 or later is needed" if sys.version_info < (3, 10) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	touch $@

$(STAMPS):
	mkdir -p $@

$(STAMPS)/wheel: $(WHEEL) .venv/installed | $(STAMPS)
	rm -rf $(TARGET)/wheels
	$(BIN)/maturin build --release --locked --interpreter $(BIN)/python --out $(TARGET)/wheels
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(TARGET)/wheels/*.whl
	touch $@

$(STAMPS)/npm: package.json package-lock.json | $(STAMPS)
	node -e 'if (process.versions.node.split(".")[0] < 20) { console.error("Node.js 20 or later is needed"); process.exit(1) }'
	npm ci
	touch $@

$(STAMPS)/addon: $(ADDON) $(STAMPS)/npm | $(STAMPS)
	npm run build
	touch $@

$(STAMPS)/servers: tests/servers/package.json tests/servers/package-lock.json tests/servers/get-nginx | $(STAMPS)
	npm ci --prefix tests/servers
	tests/servers/get-nginx $(TARGET)/nginx
	touch $@

.PHONY: rust-programs
rust-programs:
	cargo build $(CRATES) --bins --examples

.PHONY: lab
lab:
	cargo build --locked --profile lab --package rampmeter-lab

# ------------------------------------------------------------------ running

.PHONY: demo
demo: lab $(STAMPS)/wheel $(STAMPS)/addon ## fleets in three languages, with and without Rampmeter; writes demo.html
	$(TARGET)/lab/rampmeter demo --python $(BIN)/python

# ------------------------------------------------------------------ testing

.PHONY: test
test: test-rust test-python test-node vectors e2e ## everything that is tested, in all three languages

.PHONY: test-rust
test-rust: ## the crates, with their documentation's examples
	if cargo nextest --version >/dev/null 2>&1; then \
		cargo nextest run --no-fail-fast $(CRATES); \
	else \
		cargo test $(CRATES) --no-fail-fast --lib --bins --tests; \
	fi
	cargo test $(CRATES) --doc

.PHONY: test-python
test-python: $(STAMPS)/wheel ## the Python package
	$(BIN)/python -m pytest bindings-python/tests

.PHONY: test-node
test-node: $(STAMPS)/addon ## the npm package
	npm test

.PHONY: vectors
vectors: $(STAMPS)/wheel $(STAMPS)/addon rust-programs ## the shared cases, replayed by each language's engine
	$(TARGET)/debug/rampmeter self-test --vectors $(VECTORS)
	$(BIN)/python -m rampmeter self-test --vectors $(VECTORS)
	npx --no-install rampmeter self-test --vectors $(VECTORS)

.PHONY: e2e
e2e: $(STAMPS)/wheel $(STAMPS)/addon $(STAMPS)/servers rust-programs ## real clients against real rate-limiting servers
	$(BIN)/python -m pytest tests/e2e

# What libFuzzer needs to see where an input leads. The sanitizers would need
# another toolchain, and have little to find without `unsafe`.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
FUZZ_FLAGS := --cfg fuzzing -Cpasses=sancov-module $(addprefix -Cllvm-args=-sanitizer-coverage-,\
	level=4 inline-8bit-counters pc-table trace-compares)
FUZZ_SECONDS ?= 60
FUZZ_FOUND := $(TARGET)/fuzz-found
FUZZ_SEEDS := $(TARGET)/fuzz-seeds

.PHONY: fuzz-programs
fuzz-programs:
	cd fuzz && CARGO_TARGET_DIR=$(TARGET)/fuzz RUSTFLAGS="$(FUZZ_FLAGS)" cargo build --locked --release --target $(HOST)
	cd fuzz && CARGO_TARGET_DIR=$(TARGET)/fuzz cargo run --locked --quiet --example seeds -- ../$(VECTORS) $(FUZZ_SEEDS)

.PHONY: fuzz
fuzz: fuzz-programs ## search for inputs that break the core, FUZZ_SECONDS (60) for each target
	for target in signals engine; do \
		mkdir -p $(FUZZ_FOUND)/$$target; \
		$(TARGET)/fuzz/$(HOST)/release/$$target -max_total_time=$(FUZZ_SECONDS) -timeout=10 -print_final_stats=1 \
			-dict=fuzz/words.dict -artifact_prefix=$(FUZZ_FOUND)/$$target- \
			$(FUZZ_FOUND)/$$target fuzz/corpus/$$target $(FUZZ_SEEDS)/$$target; \
	done

.PHONY: fuzz-corpus
fuzz-corpus: fuzz-programs ## keep the fewest inputs that lead everywhere `make fuzz` got to
	for target in signals engine; do \
		rm -rf $(FUZZ_FOUND)/fewest; \
		mkdir -p $(FUZZ_FOUND)/fewest $(FUZZ_FOUND)/$$target; \
		$(TARGET)/fuzz/$(HOST)/release/$$target -merge=1 -use_counters=0 $(FUZZ_FOUND)/fewest \
			fuzz/corpus/$$target $(FUZZ_FOUND)/$$target $(FUZZ_SEEDS)/$$target; \
		rm -rf fuzz/corpus/$$target; \
		mv $(FUZZ_FOUND)/fewest fuzz/corpus/$$target; \
	done

.PHONY: bench
bench: $(STAMPS)/wheel $(STAMPS)/addon ## what a call costs, in all three languages
	cargo bench --locked --package rampmeter
	$(BIN)/python bindings-python/benches/transport.py
	node bindings-node/benches/fetch.mjs

# ------------------------------------------------------------------ linting

.PHONY: lint
lint: lint-rust lint-python lint-node checks ## formatting, lints, types, documentation, versions, generated files

.PHONY: lint-rust
lint-rust:
	cargo fmt --all --check
	cargo clippy $(CRATES) --all-targets -- -D warnings
	cargo clippy --locked --package rampmeter-python --package rampmeter-node -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --all-features --no-deps --quiet

.PHONY: lint-python
lint-python: $(STAMPS)/wheel
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	MYPYPATH=tests/servers:tests/e2e $(BIN)/mypy tests/e2e/*.py .ci/checks.py
	$(BIN)/python -m mypy.stubtest rampmeter._core --allowlist bindings-python/stubtest.allow

.PHONY: lint-node
lint-node: $(STAMPS)/npm
	npm run lint

.PHONY: checks
checks: .venv/installed $(STAMPS)/wheel $(STAMPS)/addon
	$(BIN)/python .ci/checks.py
	$(BIN)/python bindings-python/generate_types.py --check
	git diff --exit-code -- bindings-node/types/native.d.ts

.PHONY: generate
generate: .venv/installed $(STAMPS)/wheel $(STAMPS)/addon ## rewrite the files that are generated from the core
	$(BIN)/python .ci/checks.py --write
	$(BIN)/python bindings-python/generate_types.py

.PHONY: clean
clean: ## remove everything that was built or installed here
	rm -rf $(TARGET) .venv node_modules tests/servers/node_modules demo.html
