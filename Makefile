# Each target is one real command or two; CI calls `make test`.
.DEFAULT_GOAL = help
CARGO_TARGET_DIR ?= target
STILLWELL = $(abspath $(CARGO_TARGET_DIR))/debug/stillwell
RELEASE = $(abspath $(CARGO_TARGET_DIR))/release/stillwell
# The program that writes the manual pages and the completions: another machine's cannot run here.
WRITER = $(RELEASE)
# The machine that a package is for: x86_64 or aarch64.
ARCH = $(shell uname -m)
TESTS = crates/stillwell/tests
# A part of the tests that cannot run here ends with 77 and says why. That is no error for a developer.
SKIP_IS_NO_ERROR = || test $$? = 77

PREFIX = /usr/local
BIN = $(DESTDIR)$(PREFIX)/bin
SHARE = $(DESTDIR)$(PREFIX)/share

.PHONY: help rust build release dist deb rpm archive wheel image crates packages reproducible dist-tools deny workflows semver aur oldest-rust newest-rust \
	release-check install demo test test-all test-times build-times test-tools test-vm test-arm test-report test-slurm docs fuzz lint bench bless capture

help: ## this list
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/\1 \2/p' Makefile | while read -r name what; do printf '%-15s %s\n' "$$name" "$$what"; done

# There are two ways to it. That of Debian 12 and of Ubuntu is too old.
rust:
	@command -v cargo > /dev/null || { printf '%s\n' 'Stillwell is built with Rust, which is not here. Two ways to get it:' \
		"  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh     # for you alone, no root; from rust-lang.org" \
		'  sudo apt install rustup && rustup default stable                   # of Debian 13, Ubuntu 24.04' >&2; exit 1; }

build: rust ## the program for every day and for the tests: not optimised, quick to build
	cargo build --locked

release: ## the program that is measured and installed: optimised, slow to build. With VERSION=: all of a release
	$(if $(VERSION),packaging/release $(VERSION),cargo build --release --locked)

dist: ## the static program that runs on every Linux: ARCH=x86_64 or aarch64 [this machine's]
	packaging/build $(ARCH)

deb rpm archive wheel image: dist ## the static program in a package, in target/packages: ARCH as for dist
	packaging/$@ $(ARCH)

crates: ## what `cargo publish` would send, in target/packages
	packaging/crates

packages: archive deb rpm wheel crates ## all of these, and a PKGBUILD of the archive
	packaging/aur

reproducible: ## build the static program in two directories, and compare: ARCH as for dist
	packaging/reproducible $(ARCH)

dist-tools: ## what the targets above need: as root with apt-get; rustup, pip
	packaging/tools

deny: ## licences, sources and known security advisories of all dependencies: needs cargo-deny
	cargo deny check

workflows: ## check .github/workflows: needs actionlint
	actionlint

semver: ## whether the crates and the Python package broke a promise since BASE=v0.1.0: needs cargo-semver-checks, griffe
	cargo semver-checks --baseline-rev $(BASE) -p stillwell-stats -p stillwell-formats -p stillwell-bench
	griffe check stillwell --search python --against $(BASE)

aur: ## a PKGBUILD that installs the archives of target/packages
	packaging/aur

oldest-rust: ## check all code with the oldest Rust that Cargo.toml promises, which rustup has
	cargo +$(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml).0 check --locked --workspace --all-targets

newest-rust: ## the tests with the newest stable Rust, which rustup has
	cargo +stable test --locked --workspace --no-fail-fast

release-check: ## install each package for this machine in a clean root, as root, and use it there
	packaging/check

# As root there may be no cargo, so `make install` takes what `make release` has made. The pages are root's, so the program
# is not told who called sudo.
install: ## the program, its manual page and its completions: PREFIX [/usr/local], DESTDIR [empty]
	test -x $(RELEASE) || $(MAKE) --no-print-directory release
	install -d $(BIN) $(SHARE)/man/man1 $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions \
		$(SHARE)/fish/vendor_completions.d
	install -m 755 $(RELEASE) $(BIN)/stillwell
	env -u SUDO_UID -u SUDO_GID -u SUDO_USER -u DOAS_USER -u PKEXEC_UID $(WRITER) man --dir $(SHARE)/man/man1
	$(WRITER) completions bash > $(SHARE)/bash-completion/completions/stillwell
	$(WRITER) completions zsh > $(SHARE)/zsh/site-functions/_stillwell
	$(WRITER) completions fish > $(SHARE)/fish/vendor_completions.d/stillwell.fish

demo: rust ## compare two real commands of this machine
	@test -x $(STILLWELL) || echo 'First the program is built: some 90 s on two CPUs, once.'
	@$(MAKE) --no-print-directory build
	@mkdir -p target/demo
	@seq 1 400000 > target/demo/data.txt
	@echo 'Now gzip compresses 2.7 MB at the levels 1 and 2, in turns, for 6 s at most. Is level 2 slower?'; echo
	@cd target/demo && $(STILLWELL) run --budget 6s 'gzip -k -f -1 data.txt' 'gzip -k -f -2 data.txt'
	@printf '\n%s\n' 'Try next:' \
		"  $(CARGO_TARGET_DIR)/debug/stillwell show -v        # everything that these runs have shown" \
		"  $(CARGO_TARGET_DIR)/debug/stillwell run 'sort target/demo/data.txt' 'sort -n target/demo/data.txt'    # or two commands of yours" \
		"  $(CARGO_TARGET_DIR)/debug/stillwell system         # what disturbs measurements on this machine, and what to do"

test: ## everything that CI checks; ends with what ran, how long it took, what was skipped and why
	.ci/test

test-all: ## that and what takes longer: all kernels, all experiments, more kill points, ARM64, fuzzing; each night and for a release
	.ci/test all

test-times: ## make test, and its times go into CONTRIBUTING.md
	.ci/test times

build-times: ## time the builds, and the times go into CONTRIBUTING.md
	.ci/build-times

test-tools: ## install what the tests need: as root with apt-get, and with npm, pip and cargo
	$(TESTS)/tools all

test-vm: ## the program on real kernels, in emulated machines
	$(TESTS)/vm/run $(SKIP_IS_NO_ERROR)

test-arm: ## the static program on an ARM64 kernel, in an emulated machine: needs make dist-tools and make dist ARCH=aarch64
	$(TESTS)/vm/arm $(SKIP_IS_NO_ERROR)

test-report: ## pages of `stillwell report` in a real browser
	$(TESTS)/report/run $(SKIP_IS_NO_ERROR)

test-slurm: ## pools on a real Slurm
	$(TESTS)/slurm/run $(SKIP_IS_NO_ERROR)

docs: ## the documentation of the crates; all links of the manual, and the manual as a book in target/book if there is an mdbook
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps
	$(TESTS)/docs/run

fuzz: ## every reader with inputs that coverage guides: SECONDS for each [3600]; needs nightly Rust and cargo-fuzz
	fuzz/run $(or $(SECONDS),3600) $(SKIP_IS_NO_ERROR)

lint: ## formatting and clippy, no warnings
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

bench: export STILLWELL = $(RELEASE)
bench: release ## most experiments of docs/experiments.md, side by side with other tools
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
	experiments/gate/run
	experiments/gate/real
	experiments/gate/hosted
	experiments/gate/planted
	experiments/referee/race
	experiments/why/run
	experiments/referee/run
	experiments/referee/campaigns
	experiments/bisect/run
	experiments/why/sizes
	experiments/pyperf/run
	experiments/hyperfine/run
	cargo run --release --locked -p stillwell-stats --example pools

bless: ## accept changed snapshots, then read the diff; inline ones need `cargo insta accept`
	INSTA_UPDATE=always TRYCMD=overwrite cargo test --locked --workspace

capture: build ## this machine as a machine to test with: make capture NAME=my-laptop
	$(STILLWELL) system capture > crates/host/tests/hosts/$(or $(NAME),$(error say NAME=...)).txt
