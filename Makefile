# Each target is one real command or two; CI calls `make test`.
STILLWELL = target/release/stillwell

.PHONY: build demo test test-vm test-report test-slurm lint bench bless capture

build:
	cargo build --release --locked

demo: build ## compare two real commands of this machine
	@mkdir -p target/demo
	@seq 1 400000 > target/demo/data.txt
	@cd target/demo && ../../$(STILLWELL) run --budget 6s 'gzip -k -f -1 data.txt' 'gzip -k -f -2 data.txt'

test: lint ## everything that CI checks
	cargo test --locked --workspace
	cargo build --locked --release
	python3 -m unittest discover -s python/tests
	python3 -m unittest discover -s c/tests
	experiments/check
	@$(MAKE) --no-print-directory test-report
	@$(MAKE) --no-print-directory test-slurm
	@$(MAKE) --no-print-directory test-vm

test-vm: ## the program on real kernels, in emulated machines; says why when it cannot have them
	crates/stillwell/tests/vm/run

test-report: ## pages of `stillwell report` in a real browser; says why when it cannot have one
	crates/stillwell/tests/report/run

test-slurm: ## pools on a real Slurm; says why when it cannot have one
	crates/stillwell/tests/slurm/run

lint:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

bench: build ## the experiments of docs/experiments.md, side by side with other tools
	experiments/overhead/run
	experiments/records/run
	experiments/real/run
	experiments/kill/run
	experiments/trust/run
	experiments/timeit/run
	experiments/files/run
	experiments/isolation/run
	experiments/noise/run
	experiments/history/run
	experiments/pool/run

bless: ## accept changed snapshots, then read the diff; inline ones need `cargo insta accept`
	INSTA_UPDATE=always TRYCMD=overwrite cargo test --locked --workspace


capture: build ## this machine as a machine to test with: make capture NAME=my-laptop
	$(STILLWELL) system capture > crates/stillwell/tests/hosts/$(or $(NAME),$(error say NAME=...)).txt
