# Two commands do everything: `make demo` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint bench bench-linkage bench-scan bench-bounded bench-ray bench-review bench-tv study setup clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/python benchmarks/demo.py demo

# One thread a worker: two that each want both cores wait for each other most of the time.
test: $(READY)
	scripts/browser.sh
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/bench_loss.py
	$(BIN)/python benchmarks/bench_made.py
	$(BIN)/python benchmarks/bench_memory.py

bench-linkage: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python benchmarks/bench_linkage.py

bench-ray: $(READY)
	$(BIN)/python benchmarks/bench_ray.py
	$(BIN)/python benchmarks/bench_scale.py

CLIPS ?= ../shared/data/clips
bench-scan: $(READY)
	$(BIN)/python benchmarks/bench_scan.py $(CLIPS)

SHARED ?= ../shared/data
bench-bounded: $(READY)
	$(BIN)/python benchmarks/bench_bounded.py --faces $(SHARED)/faces/lfw.zip
	$(BIN)/python benchmarks/bench_grouping.py

# Clips of your own: make bench-tv TV=folder; options of the scan: SCAN=--no-finetune.
TV ?= $(SHARED)/tv
study-data/tv-casts: $(READY)
	$(BIN)/python benchmarks/bench_tv.py $(TV) --keep $@

bench-review: $(READY) $(if $(wildcard $(TV)/truth),study-data/tv-casts)
	$(BIN)/python benchmarks/study_data.py $(SHARED) study-data --for review
	$(BIN)/python benchmarks/bench_review.py --episodes study-data/recast_val \
		$(if $(wildcard $(TV)/truth),--casts study-data/tv-casts --truth $(TV)/truth)

bench-tv: $(READY)
	$(BIN)/python benchmarks/bench_tv.py $(TV) -- $(SCAN)

study: $(READY)
	$(BIN)/python benchmarks/study_data.py $(SHARED) study-data
	$(BIN)/castlist study benchmarks/study.toml -o study-out

clean:
	rm -rf $(VENV) demo
