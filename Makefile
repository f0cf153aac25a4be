# Two commands: `make demo` and `make test`. Everything else is the CMake presets (CMakePresets.json).
PYTHON ?= /usr/bin/python3
JOBS ?= $(shell nproc)
STUDY ?= data/studies/hmm-four-paths.toml
RESULTS ?= results
# make demo samples the posterior of the hmm studies, for some seconds. SAMPLES=on samples any study with its own settings,
# SAMPLES=off none.
SAMPLES ?= $(if $(filter hmm-%,$(notdir $(STUDY))),seconds,off)
# The figures in the gallery of the documentation: all, or (quick) those whose results take seconds.
FIGURES ?= all
# DEPENDENCIES=have installs nothing: for systems that apps/setup/dependencies.sh does not know.
DEPENDENCIES ?= install
# TRAINING=off builds without the training engine and does not install its packages (LibTorch, oneDNN).
# TRAINING=required fails if they are missing: for continuous integration.
TRAINING ?= on
# How often `make kills` kills each verb.
KILLS ?= 100
# How long `make soak` runs the verbs in one process, and `make fuzz` each fuzzer.
MINUTES ?= 120
# How many mutations `make mutations` judges, and the seed that draws them.
MUTATIONS ?= 100
SEED ?= 1
# TORCH=auto takes the LibTorch inside an installed PyTorch (2.6 or later, with CUDA or without). TORCH=FOLDER takes that
# one. Without it the build takes the system's.
TORCH ?=
# LONG=on runs the long tests, too. They take ten minutes and more, and are for changes that are ready.
LONG ?= off

HEADWAY := build/release/bin/headway
CCACHE := $(shell command -v ccache 2>/dev/null)
# Each module is compiled as one group. That halves the time from nothing and takes 2.5 GB a compiler. UNITY=OFF compiles
# file by file.
UNITY ?= ON
CONFIGURE := -DCMAKE_UNITY_BUILD=$(UNITY) -DHEADWAY_PYTHON=$(PYTHON) -DHEADWAY_TRAINING=$(if $(filter off,$(TRAINING)),OFF,$(if $(filter required,$(TRAINING)),ON,AUTO)) -DHEADWAY_TORCH=$(TORCH) $(if $(CCACHE),-DCMAKE_CXX_COMPILER_LAUNCHER=$(CCACHE))

.PHONY: help build demo notebook test sanitize test-processors bench reproduce kills soak flips docs packages wheel bundle gpu races fuzz mutations format tidy lint dependencies clean

help:
	@echo 'make demo       install what is missing, build, solve $(STUDY), sample its posterior, draw the figures'
	@echo 'make test       the same set-up, then every test that continuous integration runs (LONG=on: the long ones, too)'
	@echo 'make test-processors  the tests of numbers with kernels for SSE3, AVX2 and AVX-512, as far as this processor has them'
	@echo 'make build      the program $(HEADWAY) and the extension module of the Python package'
	@echo 'make docs       the site of the documentation, in build/docs/site (FIGURES=quick leaves out results that take minutes)'
	@echo 'make packages   Debian packages of all parts, in build/packages'
	@echo 'make wheel      a Python wheel, in build/wheel'
	@echo 'make bundle     one archive for machines that have PyTorch and none of our packages, in build/bundle'
	@echo 'make gpu        on a machine with a GPU: kernels, sanitizers, times, a short training run (TORCH=auto; ONLY=PART,... for some)'
	@echo 'make notebook   open the notebooks in a browser (needs Jupyter)'
	@echo 'make bench      measure the speed of the theory (apps/benchmarks)'
	@echo 'make reproduce  run every study of minutes again, beside what was recorded and published: an hour (ONLY=NAME,... for some)'
	@echo 'make kills      kill each verb at random times, KILLS=$(KILLS) processes each, and look for anything lost'
	@echo 'make soak       run all verbs in one process for MINUTES=$(MINUTES), and look for growing memory, open files and threads'
	@echo 'make sanitize   the unit tests with the whole library under the sanitizers of addresses and undefined behaviour'
	@echo 'make races      the unit tests under the thread sanitizer'
	@echo 'make fuzz       give changed bytes to the readers of files for MINUTES=$(MINUTES), under the sanitizers (clang), then make flips'
	@echo 'make flips      change every byte of small files, one at a time: each is refused, or the numbers are the same (an hour)'
	@echo 'make mutations  put MUTATIONS=$(MUTATIONS) small mistakes into the library, and see which the tests notice: hours'
	@echo 'make lint       cppcheck, then make tidy'
	@echo 'make tidy       clang-tidy with warnings as errors (slow)'
	@echo 'make format     lay out every source with clang-format'
	@echo 'make clean      remove build/'
	@echo 'Variables: PYTHON=$(PYTHON) JOBS=$(JOBS) STUDY=... RESULTS=$(RESULTS) DEPENDENCIES=have TRAINING=off SAMPLES=off TORCH=auto ONLY=...'

dependencies:
ifneq ($(DEPENDENCIES),have)
	@TRAINING=$(if $(TORCH),off,$(TRAINING)) apps/setup/dependencies.sh
endif

build: dependencies
	@cmake --preset release $(CONFIGURE) --log-level=NOTICE
	@cmake --build --preset release --parallel $(JOBS) --target headway_cli headway_python

# The table of the theory on the terminal; samples, alignment, head scores and every figure in $(RESULTS)/.
demo: SAMPLED = $(if $(filter off,$(SAMPLES)),,$(RESULT)-samples.h5)
demo: RESULT = $(RESULTS)/$(basename $(notdir $(STUDY)))
demo: PLOT = PYTHONPATH=apps/python $(PYTHON) -m headway plot --force -o $(RESULT)-figures
demo: build
	@mkdir -p $(RESULTS)
	$(HEADWAY) solve $(STUDY) --force -o $(RESULT).h5
	$(HEADWAY) align $(RESULT).h5 -q --force -o $(RESULT)-align.h5 > $(RESULT)-align.txt
	$(HEADWAY) prune $(RESULT).h5 -q --force -o $(RESULT)-prune.h5 > $(RESULT)-prune.txt
ifneq ($(SAMPLES),off)
	$(HEADWAY) sample $(STUDY) $(if $(filter seconds,$(SAMPLES)),--set sample.warmup=500 --set sample.predictor_draws=100) \
	           -q --force -o $(RESULT)-samples.h5 > $(RESULT)-samples.txt || [ $$? -eq 2 ]  # 2: the chains do not agree yet
endif
	$(PLOT) $(RESULT).h5 $(SAMPLED)
	$(PLOT) --only kernel_alignment $(RESULT)-align.h5
	$(PLOT) --only head_scores,pruning $(RESULT)-prune.h5

# Clang compiles tests with sanitizers in about 60 % of GCC's time. It is taken where it can link such a program. A tree keeps
# the compiler that began it.
PROBE := \#include <omp.h>\nint main() {}\n
SANITIZING = $(if $(wildcard build/asan/CMakeCache.txt),,$(shell printf '$(PROBE)' | \
  clang++ -fopenmp -fsanitize=address,undefined -x c++ -o /dev/null - 2>/dev/null && echo -DCMAKE_CXX_COMPILER=clang++))

test: export TESTING = $(if $(filter on,$(LONG)),on,short)
test: dependencies
	@cmake --preset ci $(CONFIGURE) -DHEADWAY_LONG_TESTS=$(if $(filter on,$(LONG)),ON,OFF) --log-level=NOTICE
	@cmake --build --preset ci --parallel $(JOBS)
	@ctest --preset $(if $(filter on,$(LONG)),all,ci) --parallel $$(($(JOBS) + 2))  # some tests wait

# Every unit test, and the whole library, under the address and undefined-behaviour sanitizers.
sanitize: export FUZZING = on
sanitize: dependencies
	@cmake --preset asan $(CONFIGURE) $(SANITIZING) --log-level=NOTICE
	@cmake --build --preset asan --parallel $(JOBS) --target unit_tests
	@ctest --preset asan --parallel $$(($(JOBS) + 1))

# Kernels for three generations of processors: what a test asks of rounding must hold with each.
test-processors: export TESTING = short
test-processors: dependencies
	@cmake --preset release $(CONFIGURE) --log-level=NOTICE
	@cmake --build --preset release --parallel $(JOBS)
	@tests/processors.sh build/release $(JOBS)

# JupyterLab where it is, else the older Notebook.
notebook: build
	@PYTHONPATH=$(CURDIR)/apps/python PATH=$(CURDIR)/build/release/bin:$$PATH; export PYTHONPATH PATH; \
	for part in lab notebook; do \
	  if $(PYTHON) -m jupyter $$part --version >/dev/null 2>&1; then exec $(PYTHON) -m jupyter $$part notebooks; fi; \
	done; echo 'make notebook: $(PYTHON) has no Jupyter: apt-get install jupyter-notebook, or pip install jupyterlab'; exit 1

docs: export DOCS = on
docs: build
	@$(PYTHON) -B apps/docs/build_site.py --program $(HEADWAY) --output build/docs --figures $(FIGURES)

# Everything that is installed, then each part as a .deb: apt-get install ./build/packages/*.deb
packages: export PACKAGING = on
packages: build
	@cmake --build --preset release --parallel $(JOBS) --target headway_packaged
	@cd build/release && cpack -G DEB -B ../packages > ../packages.log || { cat ../packages.log; exit 1; }
	@rm -r build/packages/_CPack_Packages && ls build/packages/*.deb

wheel: dependencies
	@apps/setup/wheel.sh $(PYTHON) build/wheel

# For the PyTorch that is active, or that TORCH names.
bundle: dependencies
	@cmake --preset release -B build/bundle/tree $(CONFIGURE) -DHEADWAY_TORCH=$(or $(TORCH),auto) -DHEADWAY_BUILD_BENCHMARKS=OFF --log-level=NOTICE
	@cmake --build build/bundle/tree --parallel $(JOBS) --target gpu_programs
	@apps/setup/bundle.sh build/bundle/tree build/bundle

# Ends well where there is no GPU, and says so.
gpu: build
	@cmake --build --preset release --parallel $(JOBS) --target gpu_programs
	@$(PYTHON) -B tests/gpu/gpu.py --program $(HEADWAY) --jax apps/benchmarks/jax_training.py \
	  --kernels "$$(ls build/release/bin/gpu_kernels 2>/dev/null)" $(if $(ONLY),--only '$(ONLY)')

bench: dependencies
	@cmake --preset release $(CONFIGURE) --log-level=NOTICE
	@cmake --build --preset release --parallel $(JOBS) --target benchmarks
	build/release/bin/benchmark_theory

reproduce: build
	@$(PYTHON) apps/setup/reproduce.py --program $(HEADWAY) $(if $(ONLY),--only '$(ONLY)')

flips: build
	@HEADWAY_PROGRAM=$(abspath $(HEADWAY)) HEADWAY_STUDIES=$(abspath data/studies) PYTHONPATH=apps/python HEADWAY_FLIPS=all \
	  $(PYTHON) -B tests/cli/changed_bytes_test.py ChangedBytes

kills: build
	@HEADWAY_PROGRAM=$(abspath $(HEADWAY)) HEADWAY_STUDIES=$(abspath data/studies) HEADWAY_KILLS=$(KILLS) \
	  $(PYTHON) -B tests/cli/kill_test.py

soak: build
	@HEADWAY_PROGRAM=$(abspath $(HEADWAY)) HEADWAY_SOURCE_DIR=$(CURDIR) PYTHONPATH=apps/python \
	  HEADWAY_SOAK_SECONDS=$$((60 * $(MINUTES))) $(PYTHON) -B tests/python/program_soak_test.py

format:
	@find include src apps tests -name '*.cpp' -o -name '*.hpp' | xargs clang-format-14 -i

# The unit tests under the thread sanitizer: they run every parallel part, with more than one thread.
races: dependencies
	@cmake --preset tsan $(CONFIGURE) --log-level=NOTICE
	@cmake --build --preset tsan --parallel $(JOBS) --target unit_tests
	@ctest --preset tsan --parallel $(JOBS)

# File by file: a fuzzer looks at every edge that is linked after each input, and so only what readers need is.
fuzz: export FUZZING = on
fuzz: dependencies
	@cmake --preset fuzz $(CONFIGURE) -DHEADWAY_TRAINING=OFF -DCMAKE_UNITY_BUILD=OFF --log-level=NOTICE
	@cmake --build --preset fuzz --parallel $(JOBS) --target fuzzers
	@tests/fuzz/run.sh $$((60 * $(MINUTES)))
	@$(MAKE) --no-print-directory flips

mutations: export TESTING = on
mutations: dependencies
	@[ -d build/universalmutator ] || { $(PYTHON) -m venv build/universalmutator && build/universalmutator/bin/pip install -q universalmutator==1.14.1; }
	@HEADWAY_PYTHON=$(PYTHON) build/universalmutator/bin/python -B tests/mutations/draw.py --count $(MUTATIONS) --seed $(SEED) --jobs $(JOBS)

tidy: export LINT = on
# Everything but what includes LibTorch 1.13, whose headers clang does not take as C++20.
tidy: dependencies
	@cmake --preset tidy $(CONFIGURE) --log-level=NOTICE
	@cmake --build --preset tidy --target generated/build_info.cpp
	@run-clang-tidy -quiet -p build/tidy -j $(JOBS) '^(?!.*(headway_torch|headers_alone)).*$$'

lint: export LINT = on
lint: dependencies
	@cppcheck -q -j $(JOBS) --std=c++20 --language=c++ --enable=warning,portability \
	  --suppressions-list=src/cmake/cppcheck.txt --error-exitcode=1 -I include -I src src apps/cli apps/python/native
	@$(MAKE) --no-print-directory tidy DEPENDENCIES=have

clean:
	rm -rf build
