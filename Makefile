# `make demo` and `make test` set up all that they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Research data, for `make study` and some benchmarks and tests (docs/research/data.md).
export CASTLIST_DATA ?= $(abspath $(or $(wildcard ../shared/data),data))
export CASTLIST_PAPER ?= $(abspath $(or $(wildcard ../shared/paper),data/paper))

.PHONY: demo test test-slow test-portable test-notebooks lint dist docs bench bench-linkage bench-scan bench-bounded bench-ray bench-review bench-tv study setup clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/python datasets/demo.py demo

# One thread per worker: two workers with two threads each would wait for each other.
test: $(READY)
	scripts/browser.sh
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

# Harnesses that kill, fill disks, fuzz and load, the notebooks, and long variants of other tests.
test-slow: $(READY)
	scripts/browser.sh
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile -m slow

# All that reads and writes files or starts processes, with what only POSIX has taken away.
test-portable: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile -p tests.without_posix \
		tests/io tests/video tests/cast tests/report tests/export tests/handover tests/pipeline \
		tests/library tests/cli tests/test_parallel.py tests/test_plugins.py tests/test_upgrade.py

# The notebooks of docs/notebooks, from beginning to end (`make test-slow` runs them too).
test-notebooks: $(READY)
	$(BIN)/python -m pytest -m slow tests/test_notebooks.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Wheel and sdist, checked, and the wheel tried in an environment that has nothing else.
dist: $(READY)
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/python scripts/check_wheel.py dist/*.whl

# The documentation as a site in site/; fails on a broken link.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

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

CLIPS ?= $(CASTLIST_DATA)/clips
bench-scan: $(READY)
	$(BIN)/python benchmarks/bench_scan.py $(CLIPS)

bench-bounded: $(READY)
	$(BIN)/python benchmarks/bench_bounded.py --faces $(CASTLIST_DATA)/faces/lfw.zip
	$(BIN)/python benchmarks/bench_grouping.py

# Your own clips: make bench-tv TV=folder; scan options: SCAN=--fast.
TV ?= $(CASTLIST_DATA)/tv
study-data/tv-casts: $(READY)
	$(BIN)/python benchmarks/bench_tv.py $(TV) --keep $@

bench-review: $(READY) $(if $(wildcard $(TV)/truth),study-data/tv-casts)
	$(BIN)/python datasets/study_data.py $(CASTLIST_DATA) study-data --for review
	$(BIN)/python benchmarks/bench_review.py --episodes study-data/recast_val \
		$(if $(wildcard $(TV)/truth),--casts study-data/tv-casts --truth $(TV)/truth)

bench-tv: $(READY)
	$(BIN)/python benchmarks/bench_tv.py $(TV) -- $(SCAN)

study: $(READY)
	$(BIN)/python -m datasets.study_data $(CASTLIST_DATA) study-data
	$(BIN)/python -m datasets.film_tracks $(CASTLIST_DATA) study-data --fold 0
	$(BIN)/castlist research study benchmarks/study.toml -o study-out

clean:
	rm -rf $(VENV) demo dist site
