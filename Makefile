# rig: `make run` evaluates the default model, `make test` runs the quick tests, `make test-all` all. Both set up what they need first.
#
#   GPU=cuda|metal|vulkan   build llama.cpp for a GPU (GPU=cpu goes back); kept until another is asked for
#   MODEL=, SUITE=, ARGS=   what `make run` evaluates, and further options of `rig run`; ARGS of the tests: pytest's
#   PYTHON=                 the Python that .venv is made with (3.11 to 3.13)

PYTHON ?= python3
MODEL ?= smollm2-135m-tools
BENCHED := $(MODEL:smollm2-135m-tools=smollm2-135m)
SUITE ?= easy
ARGS ?=
GPU ?=

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip --disable-pip-version-check install -c constraints.txt

# One stamp for each build of llama.cpp: its version and what it was built for. Without GPU= the build that is
# there will do, so that `make test` after `make run GPU=cuda` does not compile everything again.
LLAMA_VERSION := $(shell sed -n 's/^llama_cpp_python==//p' constraints.txt)
BUILT_FOR := $(patsubst $(VENV)/.llama-$(LLAMA_VERSION)-%,%,$(firstword $(wildcard $(VENV)/.llama-$(LLAMA_VERSION)-*)))
BUILD := $(or $(GPU),$(BUILT_FOR),cpu)
LLAMA := $(VENV)/.llama-$(LLAMA_VERSION)-$(BUILD)

CMAKE_cpu :=
CMAKE_cuda := -DGGML_CUDA=on
CMAKE_metal := -DGGML_METAL=on
CMAKE_vulkan := -DGGML_VULKAN=on
ifeq ($(origin CMAKE_$(BUILD)),undefined)
$(error GPU=$(BUILD) is not known; use cuda, metal, vulkan or cpu)
endif
# pip keeps one compiled wheel per version, whatever it was compiled for: a build that was asked for is made anew.
FROM_SOURCE := $(if $(GPU),--no-cache-dir --no-binary llama-cpp-python)

.PHONY: run test test-all lint docs wheel bench setup
.DELETE_ON_ERROR:

# Set up, then evaluate the default model on the easy suite, live in the terminal.
run: setup
	@$(BIN)/rig run $(MODEL) --suite $(SUITE) $(ARGS)

# Everything an evaluation needs: environment, llama.cpp, rig, and the default model, verified.
setup: $(VENV)/.rig
	@$(BIN)/rig models pull smollm2-135m

# What takes about a second or less, with few examples of each property: a few minutes.
test: setup $(VENV)/.dev
	@$(BIN)/pytest -n auto --dist worksteal -m "not slow" $(ARGS)

# Everything: the real model, real terminals, servers and browsers, and all examples.
test-all: setup $(VENV)/.dev
	@$(BIN)/pytest -n auto --dist loadfile $(ARGS)

lint: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# The documentation as a site in site/, with search; `rig docs` opens it.
docs: $(VENV)/.rig
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "built site/index.html; rig docs opens it"

# rig as one file in dist/, for pipx or pip on another machine: with suites, world, registry, documentation and man pages.
wheel: docs $(VENV)/.dev
	@$(BIN)/python -m hatchling build --target wheel

# The engine against its floor and its peers, on a quiet machine: about half an hour on 2 cores. See docs/lab/performance.md.
bench: setup $(VENV)/.dev
	@$(BIN)/rig bench $(BENCHED) $(ARGS)

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
		{ echo "rig needs Python 3.11, 3.12 or 3.13; name one with make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(LLAMA): | $(VENV)/.made
	@echo "Installing llama.cpp ($(BUILD)). If pip has no build of it yet this compiles for 5 to 7 minutes on 2 cores,"
	@echo "and pip says nothing meanwhile; started $$(date +%H:%M:%S)."
	@rm -f $(VENV)/.llama-*
	$(if $(GPU),@$(BIN)/python -m pip uninstall -q -y llama-cpp-python)
	CMAKE_ARGS="$(CMAKE_$(BUILD)) $$CMAKE_ARGS" $(PIP_INSTALL) $(FROM_SOURCE) llama-cpp-python
	@touch $@

# With mkdocs, so that `rig docs` can build its pages at the first use.
$(VENV)/.rig: pyproject.toml constraints.txt $(LLAMA)
	$(PIP_INSTALL) -e '.[docs]'
	@touch $@

$(VENV)/.dev: $(VENV)/.rig
	$(PIP_INSTALL) -e '.[dev]'
	@touch $@
