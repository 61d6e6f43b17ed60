# Everyday commands. Thin on purpose: CMake builds, tools/ has the scripts, CMakePresets.json the build types.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo build test check asan tsan bench format lint install deb tarball clean packages packages-test packages-deb

JOBS ?= $(shell nproc)
PROMPT ?= a red house on green hills at sunset, two pine trees
SEED ?= 4
PREFIX ?= /usr/local
HEARTH := build/release/bin/hearth

# A user without a home directory can still build: the compiler cache is in the build folder then.
ifneq ($(shell test -w "$$HOME" && echo yes),yes)
export CCACHE_DIR ?= $(CURDIR)/build/ccache
endif

help:  ## show this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

demo: build  ## install packages, build, generate demo.png (PROMPT="…" SEED=n)
	$(HEARTH) generate --prompt "$(PROMPT)" --steps 25 --seed $(SEED) --output demo.png
	@echo "The image: $(CURDIR)/demo.png"

build: packages build/release/build.ninja  ## install packages, build the command build/release/bin/hearth
	cmake --build --preset release --parallel $(JOBS) --target hearth

test: packages-test build/release/build.ninja  ## install packages, build, run every test
	cmake --build --preset release --parallel $(JOBS)
	ctest --preset release --parallel $(JOBS)

check: packages-test build/release/build.ninja  ## build and test the changes since the last commit, in seconds
	@tools/check.sh $(JOBS)

asan: packages-test build/asan/build.ninja  ## the tests under the address and undefined-behavior sanitizers
	cmake --build --preset asan --parallel $(JOBS)
	ctest --preset asan --parallel $(JOBS)

tsan: packages-test build/tsan/build.ninja  ## the tests under the thread sanitizer
	cmake --build --preset tsan --parallel $(JOBS)
	ctest --preset tsan --parallel $(JOBS)

bench: build  ## speed and memory at the full size of Stable Diffusion 1.5
	$(HEARTH) bench --model sd15

format: packages-test  ## clang-format every source
	tools/format.sh

lint: packages-test build/lint/build.ninja  ## format, clang-tidy, the rules of docs/architecture.md; each source includes what it uses
	cmake --build --preset lint --parallel $(JOBS)
	cd build/lint && ctest --tests-regex '^lint\.' --output-on-failure
	tools/tidy.sh build/lint

install: build  ## install the command and the library (PREFIX=/usr/local DESTDIR=)
	cmake --install build/release --prefix "$(PREFIX)" --strip

deb: build packages-deb  ## Debian packages in build/release/packages: hearth, libhearth-dev
	cd build/release && cpack -G DEB

tarball: build packages-deb  ## build/release/packages/hearth-VERSION-linux-ARCH.tar.gz, which runs from any folder
	cd build/release && cpack -G TGZ

clean:  ## remove everything built
	rm -rf build demo.png

packages:
	@tools/install_packages.sh build
packages-deb:
	@tools/install_packages.sh deb
packages-test:
	@tools/install_packages.sh test

# CMake runs again by itself if its files change; only the first run is needed here.
build/%/build.ninja:
	cmake --preset $*
