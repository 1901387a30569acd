# Each target is one real command or two; CI calls `make test`.
CARGO_TARGET_DIR ?= target
STILLWELL = $(abspath $(CARGO_TARGET_DIR))/debug/stillwell
RELEASE = $(abspath $(CARGO_TARGET_DIR))/release/stillwell
TESTS = crates/stillwell/tests
# A part of the tests that cannot run here ends with 77 and says why. That is no error for a developer.
SKIP_IS_NO_ERROR = || test $$? = 77

PREFIX = /usr/local
BIN = $(DESTDIR)$(PREFIX)/bin
SHARE = $(DESTDIR)$(PREFIX)/share

.PHONY: build release install demo test test-tools test-vm test-report test-slurm fuzz lint bench bless capture

build: ## the program for every day and for the tests: not optimised, quick to build
	cargo build --locked

release: ## the program that is measured and installed: optimised, stripped, slow to build
	cargo build --release --locked

# As root there may be no cargo, so `make install` takes what `make release` has made.
install: ## the program, its manual page and its completions: PREFIX [/usr/local], DESTDIR [empty]
	test -x $(RELEASE) || $(MAKE) --no-print-directory release
	install -d $(BIN) $(SHARE)/man/man1 $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions \
		$(SHARE)/fish/vendor_completions.d
	install -m 755 $(RELEASE) $(BIN)/stillwell
	$(RELEASE) man > $(SHARE)/man/man1/stillwell.1
	$(RELEASE) completions bash > $(SHARE)/bash-completion/completions/stillwell
	$(RELEASE) completions zsh > $(SHARE)/zsh/site-functions/_stillwell
	$(RELEASE) completions fish > $(SHARE)/fish/vendor_completions.d/stillwell.fish

demo: build ## compare two real commands of this machine
	@mkdir -p target/demo
	@seq 1 400000 > target/demo/data.txt
	@cd target/demo && $(STILLWELL) run --budget 6s 'gzip -k -f -1 data.txt' 'gzip -k -f -2 data.txt'

test: ## everything that CI checks; ends with what ran, what was skipped and why
	.ci/test

test-tools: ## install what the next three need: as root with apt-get, and with npm and pip
	$(TESTS)/tools

test-vm: ## the program on real kernels, in emulated machines
	$(TESTS)/vm/run $(SKIP_IS_NO_ERROR)

test-report: ## pages of `stillwell report` in a real browser
	$(TESTS)/report/run $(SKIP_IS_NO_ERROR)

test-slurm: ## pools on a real Slurm
	$(TESTS)/slurm/run $(SKIP_IS_NO_ERROR)

fuzz: ## every reader with inputs that coverage guides: SECONDS for each [3600]; needs nightly Rust and cargo-fuzz
	fuzz/run $(or $(SECONDS),3600) $(SKIP_IS_NO_ERROR)

lint: ## formatting and clippy, no warnings
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

bench: export STILLWELL = $(RELEASE)
bench: release ## the experiments of docs/experiments.md, side by side with other tools
	experiments/overhead/run
	experiments/records/run
	experiments/real/run
	experiments/kill/run
	experiments/trust/run
	experiments/timeit/run
	experiments/files/run
	experiments/isolation/run
	experiments/classics/run
	experiments/noise/run
	experiments/busy/run
	experiments/history/run
	experiments/pool/run
	cargo run --release --locked -p stats --example pools

bless: ## accept changed snapshots, then read the diff; inline ones need `cargo insta accept`
	INSTA_UPDATE=always TRYCMD=overwrite cargo test --locked --workspace

capture: build ## this machine as a machine to test with: make capture NAME=my-laptop
	$(STILLWELL) system capture > crates/stillwell/tests/hosts/$(or $(NAME),$(error say NAME=...)).txt
