# Everything a checkout needs. An environment is made on first use and again only when pyproject.toml changes. Most of what is in
# it is never imported, so pip compiles nothing.
PYTHON ?= python3
# What is compiled is kept, whatever the caller's environment says: thousands of processes start here.
unexport PYTHONDONTWRITEBYTECODE
# Neighbours run in one process, which has made what they share.
WORKERS ?= --numprocesses auto --maxprocesses 8 --dist worksteal
# Of a table marked exhaustive, make test runs one case in so many, make test-rest the others: TURN says which ones.
TURN ?= 0
THIN = --thin=4 --turn=$(TURN)
# Of what make test skips, make test-skipped can run one test in SAMPLE.
SAMPLE ?= 1
PART = --sample=$(SAMPLE) --turn=$(TURN)
# Version 25.1 of pip is the first that installs dependency groups.
PIP = python -m pip install -qq --disable-pip-version-check
ENVIRONMENTS = .venv .venv-demo .venv-bench .venv-all .venv-mutants .venv-docs
EXTRAS_.venv-demo = demo
EXTRAS_.venv-all = demo,models
GROUPS_.venv = test lint
GROUPS_.venv-bench = bench
GROUPS_.venv-all = test lint oracles
GROUPS_.venv-mutants = test mutants
GROUPS_.venv-docs = docs

.PHONY: help docs test-failed suites suites-array suites-jax suites-onnx suites-stablehlo suites-torch demo quick test test-rest test-all test-skipped test-machines test-gpu bench bench-gpu gpu-report mutants fuzz clean mlir-opt axe qemu test-matrix vendor-elk
.DELETE_ON_ERROR:

help:
	@echo "make demo      train the digits classifier through our autodiff and the NumPy target"
	@echo "make quick     ruff, basedpyright, lit, closed tables and a program on each target in .venv: under two minutes on two cores"
	@echo "make test      ruff, basedpyright, lit and pytest in .venv, with one case in four of exhaustive tables"
	@echo "make test-all  all of it beside JAX, PyTorch and a real mlir-opt, in .venv-all"
	@echo "make test-rest  the other cases of exhaustive tables, in .venv"
	@echo "make test-skipped  what the last make test skipped, in .venv-all"
	@echo "make test-failed  the tests that failed in the last run, by themselves"
	@echo "make test-machines  native code and tools under each instruction set, without privileges, on busy cores, and so on"
	@echo "make test-matrix  the quick tests on each Python from 3.11 to 3.14 that is found, with the oldest and newest xDSL and NumPy"
	@echo "make bench     cost per op, determinism, native code beside its peers; written to benchmarks/results"
	@echo "make test-gpu  the tests of the CuPy target on a GPU, with the CuPy that PYTHON has; in slices, so run it again"
	@echo "make bench-gpu the CuPy target beside what PYTHON has of PyTorch and JAX on a GPU; in slices too"
	@echo "make suites SUITES=PATH  public test suites (StableHLO's data, JAX's harnesses, PyTorch's samples, ONNX's node tests, the array API's tests) on our executors; written to docs/"
	@echo "make gpu-report  registers, spills, occupancy and bytes of CUDA kernels, without a GPU; written to benchmarks/results/gpu_report.md"
	@echo "make mutants   small changes of chosen modules that no test notices; written to benchmarks/results/mutants.md"
	@echo "make fuzz SECONDS=600  generated inputs of every kind, none of which may fail without a code; written to benchmarks/results/fuzz.md"
	@echo "make axe       fetch axe-core, which checks the accessibility of pages"
	@echo "make vendor-elk  fetch the layout library of mind-view again"
	@echo "make docs      the documentation site with the generated reference, in .site/html"
	@echo "make clean     remove every environment and cache"

demo: .venv-demo/stamp
	@.venv-demo/bin/python examples/digits.py

quick: .venv/stamp
	@$(call checks,.venv)
	@$(call tests,.venv) --quick

test: .venv/stamp
	@$(call checks,.venv)
	@$(call tests,.venv) $(THIN) --skipped-to=.venv/skipped

test-rest: .venv/stamp
	@$(call tests,.venv) $(THIN) --rest

test-all: .venv-all/stamp mlir-opt qemu
	@$(call checks,.venv-all)
	@$(call tests,.venv-all) --isa=every

# Together with make test and make test-rest this is make test-all, but that nothing runs twice.
test-skipped: .venv-all/stamp mlir-opt qemu
	@test -f .venv/skipped || { echo "make test comes first"; exit 1; }
	@$(call tests,.venv-all) --only-from=.venv/skipped $(PART)

# The tests that failed in the last run, by themselves; where none did, as where a check before them failed, this fails too.
IN ?= .venv
test-failed:
	@echo "== the tests that failed ($(IN))"; $(IN)/bin/python -m pytest -q --last-failed --last-failed-no-failures none

# Other machines and other processes than the one at hand, as far as this one can be taken for them.
test-machines: .venv/stamp
	@.venv/bin/python tests/on_machines.py $(MACHINES)

bench: .venv-bench/stamp
	@.venv-bench/bin/python benchmarks/core_ir.py
	@.venv-bench/bin/python benchmarks/autodiff.py
	@.venv-bench/bin/python benchmarks/ptir_json.py
	@.venv-bench/bin/python benchmarks/determinism.py
	@.venv-bench/bin/python benchmarks/stablehlo_import.py
	@.venv-bench/bin/python benchmarks/native_products.py
	@.venv-bench/bin/python benchmarks/native.py
	@.venv-bench/bin/python benchmarks/memory.py
	@.venv-bench/bin/python benchmarks/dynamic.py

gpu-report: .venv-all/stamp
	@.venv-all/bin/python benchmarks/gpu_report.py $(REPORT)

# Links and anchors that lead nowhere, pages that the navigation lacks, scripts loaded from elsewhere, and quotations in quotations
# (doctests that are not read as code) fail here.
IFRAME_WORKER = 1.0.4
docs: .venv-docs/stamp
	@PYTHONPATH=tests/support .venv-docs/bin/python tests/support/site_sources.py .site/src
	@cd .site/src/docs && { npm pack --silent iframe-worker@$(IFRAME_WORKER) > /dev/null && tar xzf iframe-worker-$(IFRAME_WORKER).tgz --strip-components=2 package/shim/index.js && mv index.js iframe-worker.js && rm iframe-worker-$(IFRAME_WORKER).tgz; } || { echo "docs: no npm: search will need a server"; : > iframe-worker.js; }
	@NO_MKDOCS_2_WARNING=true .venv-docs/bin/mkdocs build --quiet --strict --clean
	@! grep -rlE --include='*.html' '<(script|link)[^>]* (src|href)=.?https?://[^>]*(js|css|shim|font)' .site/html
	@! grep -rlF --include='*.html' '```' .site/html
	@! grep -rlE --include='*.html' '<blockquote>[[:space:]]*<blockquote>' .site/html
	@echo "docs: open .site/html/index.html"

# A sample, as the whole takes days; it goes on where it was stopped.
mutants: .venv-mutants/stamp
	@nice -n 15 .venv-mutants/bin/python benchmarks/mutants.py $(MUTANTS)

# It goes on where it was stopped, unless the sources are others.
SECONDS ?= 600
fuzz: .venv/stamp
	@PYTHONPATH=benchmarks:tests/support:examples nice -n 15 .venv/bin/python -m fuzz --seconds $(SECONDS) $(FUZZ)

# These take PYTHON as it is: whatever CuPy, PyTorch and JAX it has are those for the GPU that is there.
test-gpu:
	@$(PYTHON) tests/on_gpu.py

bench-gpu:
	@PYTHONPATH=.:passes:lowering:runtime:translate:array:tools:$$PYTHONPATH $(PYTHON) benchmarks/gpu.py

# SUITES holds array-api-tests, stablehlo/testdata and so on. VISIBLE=--visible takes the files that rows may be written from.
SUITES ?= ../shared/suites
suites: suites-stablehlo suites-jax suites-torch suites-onnx suites-array

suites-array: .venv/stamp
	@.venv/bin/$(PIP) ndindex pytest-json-report
	@.venv/bin/python benchmarks/suites_array.py $(SUITES)/array-api-tests --write
	@.venv/bin/python benchmarks/suites_array.py $(SUITES)/array-api-tests --jit --write
	@.venv/bin/python benchmarks/suites_array.py $(SUITES)/array-api-tests --jit --target native --examples 5 --only "statistical or indexing or linalg or utility" --write

suites-stablehlo: .venv/stamp
	@.venv/bin/python benchmarks/suites.py $(SUITES) $(VISIBLE) --write docs/conformance-suites.md

# The harnesses that come with JAX: values and derivatives.
suites-jax: .venv-all/stamp
	@.venv-all/bin/python benchmarks/suites_jax.py $(VISIBLE) --write docs/conformance-suites.md

# The samples of PyTorch's operator tests: values and derivatives.
suites-torch: .venv-all/stamp
	@.venv-all/bin/python benchmarks/suites_torch.py $(VISIBLE) --write docs/conformance-torch.md

# The node tests and models that come with ONNX.
suites-onnx: .venv-all/stamp
	@.venv-all/bin/python benchmarks/suites_onnx.py $(VISIBLE) --write docs/conformance-onnx.md

# A real mlir-opt for the tests that read our text with it: the newest that this Debian can install.
mlir-opt:
	@sh tests/install_mlir_opt.sh

# An emulator of AArch64 and a compiler for it, for the tests that run native code for that machine.
qemu:
	@sh tests/install_qemu.sh

# What tests/test_accessibility.py checks pages with.
AXE = 4.10.3
axe:
	@rm -rf .axe && mkdir .axe && cd .axe && npm pack --silent axe-core@$(AXE) > /dev/null && tar xzf axe-core-$(AXE).tgz --strip-components=1 package/axe.min.js package/LICENSE
	@echo "axe-core $(AXE) is in .axe"

# The quick tests on each Python that is found, with the oldest and the newest dependencies that pyproject.toml allows.
test-matrix:
	@$(PYTHON) tests/on_pythons.py $(MATRIX)

# The layout library of mind-view, which is committed: it is fetched only to take another version.
ELKJS = 0.12.1
ELK_FILES = tools/mind_tools/viewer/static
vendor-elk:
	@rm -rf build/elkjs && mkdir -p build/elkjs && cd build/elkjs && npm pack --silent elkjs@$(ELKJS) > /dev/null && tar xzf elkjs-$(ELKJS).tgz
	@cp build/elkjs/package/lib/elk-api.js build/elkjs/package/lib/elk-worker.min.js $(ELK_FILES)
	@cp build/elkjs/package/LICENSE.md $(ELK_FILES)/elkjs-LICENSE.md
	@echo "elkjs $(ELKJS) is in $(ELK_FILES)"

clean:
	rm -rf $(ENVIRONMENTS) .axe .matrix .mutants .fuzz .site build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(ENVIRONMENTS:%=%/stamp): pyproject.toml
	@echo "== making $(@D):$(if $(EXTRAS_$(@D)), extras $(EXTRAS_$(@D)))$(if $(GROUPS_$(@D)), groups $(GROUPS_$(@D)))"
	@rm -rf $(@D)
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/$(PIP) --upgrade 'pip>=25.1'
	@$(@D)/bin/$(PIP) --no-compile --editable '.$(EXTRAS_$(@D):%=[%])' $(GROUPS_$(@D):%=--group %)
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
