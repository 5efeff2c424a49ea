# Everything a checkout needs. An environment is made on first use and again only when pyproject.toml changes. Most of what is in
# it is never imported, so pip compiles nothing.
PYTHON ?= python3
# What is compiled is kept, whatever the caller's environment says: thousands of processes start here.
unexport PYTHONDONTWRITEBYTECODE
# Neighbours run in one process, which has made what they share.
WORKERS ?= --numprocesses auto --maxprocesses 8 --dist worksteal
ENVIRONMENTS = .venv .venv-demo .venv-bench .venv-all
EXTRAS_.venv = test,lint
EXTRAS_.venv-demo = demo
EXTRAS_.venv-bench = bench
EXTRAS_.venv-all = test,lint,demo,models,oracles

.PHONY: help demo test test-all test-skipped test-gpu bench bench-gpu clean mlir-opt
.DELETE_ON_ERROR:

help:
	@echo "make demo      train the digits classifier through our autodiff and the NumPy target"
	@echo "make test      ruff, basedpyright, lit and pytest in .venv; make check is the first three, make pytest the last"
	@echo "make test-all  the same beside JAX, PyTorch and a real mlir-opt, in .venv-all"
	@echo "make test-skipped  of the last make test what it skipped, in .venv-all"
	@echo "make bench     cost per op, determinism, native code beside its peers; written to benchmarks/results"
	@echo "make test-gpu  the tests of the CuPy target on a GPU, with the CuPy that PYTHON has; in slices, so run it again"
	@echo "make bench-gpu the CuPy target beside what PYTHON has of PyTorch and JAX on a GPU; in slices too"
	@echo "make clean     remove every environment and cache"

demo: .venv-demo/stamp
	@.venv-demo/bin/python examples/digits.py

test: .venv/stamp
	@$(call checks,.venv)
	@$(call tests,.venv) --skipped-to=.venv/skipped

test-all: .venv-all/stamp mlir-opt
	@$(call checks,.venv-all)
	@$(call tests,.venv-all)

# Together with make test this is make test-all, but that nothing runs twice.
test-skipped: .venv-all/stamp mlir-opt
	@test -f .venv/skipped || { echo "make test comes first"; exit 1; }
	@.venv-all/bin/python -m pytest -q $(WORKERS) --only-from=.venv/skipped

bench: .venv-bench/stamp
	@.venv-bench/bin/python benchmarks/core_ir.py
	@.venv-bench/bin/python benchmarks/autodiff.py
	@.venv-bench/bin/python benchmarks/ptir_json.py
	@.venv-bench/bin/python benchmarks/determinism.py
	@.venv-bench/bin/python benchmarks/native_products.py
	@.venv-bench/bin/python benchmarks/native.py

# These take PYTHON as it is: whatever CuPy, PyTorch and JAX it has are those for the GPU that is there.
test-gpu:
	@$(PYTHON) tests/on_gpu.py

bench-gpu:
	@PYTHONPATH=.:passes:lowering:runtime:translate:tools:$$PYTHONPATH $(PYTHON) benchmarks/gpu.py

# A real mlir-opt for the tests that read our text with it: the newest that this Debian can install.
mlir-opt:
	@sh tests/install_mlir_opt.sh

clean:
	rm -rf $(ENVIRONMENTS) build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(ENVIRONMENTS:%=%/stamp): pyproject.toml
	@echo "== making $(@D): mind-dialect[$(EXTRAS_$(@D))]"
	@rm -rf $(@D)
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install -qq --no-compile --disable-pip-version-check --editable '.[$(EXTRAS_$(@D))]'
	@touch $@

# The cheap checks first; pytest last, so that its summary of what ran and what was skipped closes the output.
define checks
	set -e; \
	echo "== ruff ($(1))"; $(1)/bin/ruff check .; $(1)/bin/ruff format --check .; \
	echo "== basedpyright ($(1))"; $(1)/bin/basedpyright --pythonpath $(1)/bin/python; \
	echo "== lit ($(1))"; $(1)/bin/lit --show-unsupported tests/filecheck
endef

define tests
	echo "== pytest ($(1))"; $(1)/bin/python -m pytest -q $(WORKERS)
endef
