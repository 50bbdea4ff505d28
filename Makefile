# rig: `make run` evaluates the default model, `make test` runs the quick tests, `make test-all` all. Both set up what they need first.
#
#   GPU=cuda|metal|vulkan   build llama.cpp for a GPU (GPU=cpu goes back); kept until another is asked for
#   MODEL=, SUITE=, ARGS=   what `make run` evaluates, and further options of `rig run`; ARGS of the tests: pytest's
#   ROOM=                   the folder that `make check` checks
#   PYTHON=                 the Python that .venv is made with (3.11 to 3.13)

PYTHON ?= python3
MODEL ?= smollm2-135m-tools
BENCHED := $(MODEL:smollm2-135m-tools=smollm2-135m)
PULLED := $(filter $(shell sed -n 's/^name = "\(.*\)"/\1/p' models/registry.toml),$(MODEL))
SUITE ?= easy
ARGS ?=
ROOM ?=
PLACES := $(wildcard rig/$(ROOM) rig/plugins/$(ROOM) $(filter tui,$(ROOM)))
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
# llama.cpp's helpers for its own programs (common) and its reader of images (mtmd) take more than half of the
# compiler's time, and rig loads neither. llama-cpp-python forces common on; what CMake includes after that turns it off.
WITHOUT := -DLLAVA_BUILD=OFF '-DCMAKE_PROJECT_llama.cpp_INCLUDE=$(CURDIR)/$(VENV)/llama.cmake'
# pip keeps one compiled wheel per version, whatever it was compiled for: a build that was asked for is made anew.
FROM_SOURCE := $(if $(GPU),--no-cache-dir --no-binary llama-cpp-python)

BUILD_LOG := $(VENV)/llama-build.log
# Of what the compiler says, only how far it is: Ninja writes [12/135] before a file, and Make [ 12%].
SHOW_PROGRESS := match($$0, /^ *\[ *[0-9]+(\/[0-9]+|%)\]/) \
	{ printf "\r  compiling llama.cpp %s", substr($$0, RSTART, RLENGTH); fflush(); n = 1 } END { if (n) print "" }

.PHONY: run test test-all check lint docs wheel bench setup
.DELETE_ON_ERROR:

# Set up, then evaluate a model, or several, on the easy suite, live in the terminal.
run: setup
	@$(BIN)/rig run $(MODEL) --suite $(SUITE) $(ARGS)

# Everything an evaluation needs: environment, llama.cpp, rig, and the models, verified. A file of your own, or a
# server, is not in the registry and needs no pull.
setup: $(VENV)/.rig
	$(if $(PULLED),@$(BIN)/rig models pull $(PULLED))

# Some container images turn bytecode off: every program that a test starts would then compile all of rig again.
test test-all check: export PYTHONDONTWRITEBYTECODE =

# What takes about a second or less, with few examples of each property: a few minutes.
test: setup $(VENV)/.dev
	@$(BIN)/pytest -n auto --dist worksteal -m "not slow" $(ARGS)

# Everything: the real model, real terminals, servers and browsers, and all examples.
test-all: setup $(VENV)/.dev
	@$(BIN)/pytest -n auto --dist loadfile $(ARGS)

# One room alone, in under a minute: `make check ROOM=store`, or the folder of a tenant, or tui.
check: $(VENV)/.dev
	@test -n "$(PLACES)" || { echo "make check ROOM=NAME: there is no folder rig/NAME, rig/plugins/NAME or NAME" >&2; exit 1; }
	@$(BIN)/ruff check $(PLACES) $(wildcard tests/$(ROOM))
	@$(BIN)/ruff format --check $(PLACES) $(wildcard tests/$(ROOM))
	@$(BIN)/mypy $(patsubst %,-p %,$(subst /,.,$(PLACES)))
	@$(BIN)/pytest -n auto -m "not slow" $(wildcard tests/$(ROOM)) $(ARGS)

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

$(LLAMA): SHELL := bash
$(LLAMA): | $(VENV)/.made
	@echo "Installing llama.cpp ($(BUILD)). If pip has no build of it yet, this compiles for 2 to 3 minutes on 2 cores,"
	@echo "and longer for a GPU. What the compiler says goes to $(BUILD_LOG)."
	@rm -f $(VENV)/.llama-*
	@echo 'set(LLAMA_BUILD_COMMON OFF)' > $(VENV)/llama.cmake
	$(if $(GPU),@$(BIN)/python -m pip uninstall -q -y llama-cpp-python)
	@set -o pipefail; CMAKE_ARGS="$(CMAKE_$(BUILD)) $(WITHOUT) $$CMAKE_ARGS" \
		$(PIP_INSTALL) -v $(FROM_SOURCE) llama-cpp-python 2>&1 | tee $(BUILD_LOG) | awk '$(SHOW_PROGRESS)' || \
		{ tail -n 20 $(BUILD_LOG); echo "llama.cpp could not be installed: $(BUILD_LOG) says why" >&2; exit 1; }
	@touch $@

# With mkdocs, so that `rig docs` can build its pages at the first use.
$(VENV)/.rig: pyproject.toml constraints.txt $(LLAMA)
	$(PIP_INSTALL) -e '.[docs,engine]'
	@touch $@

$(VENV)/.dev: $(VENV)/.rig
	$(PIP_INSTALL) -e '.[dev]'
	@touch $@
