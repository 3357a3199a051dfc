# Every target does its own set-up: a virtual environment .venv in this folder, the pinned tools, the compiled package.
# Paths are relative throughout, because make cannot quote a folder whose name has a space.

PYTHON ?=
JOBS ?= 2

python := .venv/bin/python
# a process takes whole files, in their order: what a file makes for all of its tests is made once
split := -n $(JOBS) --dist loadfile --no-loadscope-reorder
pytest := $(python) -m pytest $(split)
tools := .venv/.tools
built := .venv/.built
sources := pyproject.toml CMakeLists.txt $(shell find core -type f 2>/dev/null)
cpp := $(filter %.cpp %.hpp,$(sources))
stub := src/tenfold/_core.pyi
linted := src tests benchmarks examples tools

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PYTHON
# without bytecode on disk every process compiles all that it imports: a minute of the tests, and more of those that start some
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-product test-all test-core coverage bench lint format stub tables sanitize sanitize-python docs clean distclean
.DELETE_ON_ERROR:

help:
	@echo "make demo      a table in; a leaderboard, a report and a saved model out, in under two minutes"
	@echo "make test      the tests, in minutes; make test-product: the other cases of their products; make test-all: every test"
	@echo "make test-core the C++ tests; make sanitize: the same under address and undefined-behaviour sanitizers"
	@echo "make coverage  the lines of src/tenfold and of core/ that the tests run"
	@echo "make sanitize-python  the tests of changed files on an extension with the sanitizers"
	@echo "make bench     times beside scikit-learn and the best peers"
	@echo "make lint      ruff, mypy, import-linter, clang-format, the stub; make format: apply the formatters"
	@echo "make stub      write the types of the extension, src/tenfold/_core.pyi, anew"
	@echo "make tables    write the public names and the tables of the docs, which are made from the code, anew"
	@echo "make docs      the documentation as static pages in site/"
	@echo "make clean     remove what was built; make distclean: and .venv"
	@echo "make PYTHON=/path/to/python3 ... chooses the interpreter of .venv (after make distclean)"

demo: $(built)
	$(python) -m tenfold.cli demo

test: $(built)
	$(pytest)

test-product: $(built)
	$(pytest) -m "product and not slow"

test-all: $(built)
	TENFOLD_HYPOTHESIS=thorough $(pytest) -m ""

test-core: $(tools)
	$(call core-tests,build/tests,Release,OFF)

sanitize: $(tools)
	$(call core-tests,build/sanitize,RelWithDebInfo,ON)

sanitize-python: $(built)
	cmake -S . -B build/sanitize-python -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-O1 -DTENFOLD_SANITIZE=ON -DTENFOLD_WERROR=ON \
	    -DPython_EXECUTABLE="$$($(python) -c 'import sys; print(sys.executable)')" \
	    -Dnanobind_DIR="$$($(python) -m nanobind --cmake_dir)"
	cmake --build build/sanitize-python --parallel $(JOBS)
	$(python) tools/sanitized.py build/sanitize-python tests/laws/test_persist.py tests/unit/test_persist.py

coverage: $(built)
	cmake -S . -B build/coverage -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-O1 -DTENFOLD_COVERAGE=ON \
	    -DPython_EXECUTABLE="$$($(python) -c 'import sys; print(sys.executable)')" \
	    -Dnanobind_DIR="$$($(python) -m nanobind --cmake_dir)"
	cmake --build build/coverage --parallel $(JOBS)
	$(python) tools/covered.py build/coverage $(split)

bench: $(built)
	$(python) -m benchmarks

lint: $(built)
	$(python) -m ruff check $(wildcard $(linted))
	$(python) -m ruff format --check $(wildcard $(linted))
	$(python) -m mypy
	lint-imports --no-cache
	$(python) tools/check_words.py
	clang-format --dry-run -Werror $(cpp)
	$(call write-stub,build/_core.pyi)
	diff -u $(stub) build/_core.pyi || { echo "The types of the extension have changed: run make stub."; exit 1; }

stub: $(built)
	$(call write-stub,$(stub))

tables: $(built)
	$(python) tools/public_names.py src/tenfold/__init__.py
	$(python) tools/methods_table.py docs/methods.md
	$(python) tools/losses_table.py docs/glm.md

format: $(tools)
	$(python) -m ruff check --fix $(wildcard $(linted))
	$(python) -m ruff format $(wildcard $(linted))
	clang-format -i $(cpp)

docs: $(built)
	$(python) tools/build_docs.py docs site

clean:
	rm -rf build site .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache $(built)
	find src tests benchmarks examples tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean
	rm -rf .venv

# $(call core-tests,folder,build type,sanitizers ON or OFF)
define core-tests
	cmake -S . -B $(1) -G Ninja -DCMAKE_BUILD_TYPE=$(2) -DTENFOLD_TESTS=ON -DTENFOLD_WERROR=ON -DTENFOLD_SANITIZE=$(3) \
	    -DTENFOLD_EXTENSION=OFF
	cmake --build $(1) --parallel $(JOBS)
	ctest --test-dir $(1) --output-on-failure
endef

# $(call write-stub,file): the types of the extension, as nanobind knows them
define write-stub
	$(python) -m nanobind.stubgen -q -D -m tenfold._core -o $(1)
	$(python) -m ruff check -q --select I --fix $(1)
	$(python) -m ruff format -q $(1)
endef

$(tools): tools/dev-requirements.txt
	@python=$$(sh tools/check) || exit 1; \
	if ! $(python) -c 'import pip' >/dev/null 2>&1; then \
	    echo "Making .venv with $$python"; \
	    "$$python" -m venv --clear .venv || exit 1; \
	fi
	@echo "Installing the pinned tools into .venv (once; a minute or two)"
	@$(python) -m pip install -qq --disable-pip-version-check -r tools/dev-requirements.txt
	@touch $@

$(built): $(tools) $(sources)
	@echo "Building the package (again whenever core/, CMakeLists.txt or pyproject.toml changed)"
	@$(python) -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation \
	    --config-settings=editable.rebuild=false --config-settings=cmake.define.TENFOLD_WERROR=ON --editable .
	@touch $@
