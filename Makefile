# make demo and make test need only Python 3.11 or newer with pip and venv; both set up .venv by themselves.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test checks lint types imports tests clusters coverage train-tests benchmarks clean

demo: .venv/installed
	$(BIN)/alula demo

# The checks want the processor and the clusters the network, so side by side.
test: .venv/installed-dev
	$(MAKE) --no-print-directory -j2 checks clusters
	$(MAKE) --no-print-directory tests

checks: lint types imports

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-dev
	$(BIN)/mypy

imports: .venv/installed-dev
	$(BIN)/lint-imports

tests: .venv/installed-dev
	$(BIN)/pytest -n auto --dist loadgroup

# Slurm and Ray, which some tests start; where they cannot be had, those tests are skipped loudly.
clusters:
	PYTHON=$(PYTHON) tests/clusters/install

# Lines of engine and state that the tests run, in children as well. It takes twice the time of the tests.
coverage: .venv/installed-dev
	$(BIN)/coverage erase
	-$(BIN)/coverage run -m pytest --timeout 600 -n auto --dist loadgroup
	$(BIN)/coverage combine -q
	$(BIN)/coverage report --include='engine/*' --sort cover --skip-covered
	$(BIN)/coverage report --include='state/*' --sort cover --skip-covered

benchmarks: .venv/installed-dev
	$(BIN)/python -m tests.benchmarks

train-tests: .venv/installed-dev
	$(BIN)/pip install -q -e '.[dev,train]'
	$(BIN)/pytest -m train

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/pip install -q --disable-pip-version-check -e .
	touch $@

.venv/installed-dev: pyproject.toml | .venv/bin/python
	$(BIN)/pip install -q --disable-pip-version-check -e '.[dev]'
	touch $@ .venv/installed

clean:
	rm -rf .venv .venv-ray build *.egg-info .mypy_cache .ruff_cache .pytest_cache .coverage*
