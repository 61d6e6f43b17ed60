#!/bin/sh
# Builds and runs the tests of everything that has changed since the last commit, for every edit (`make check`); `make test` runs all of them.
#   a source            the tests of its folder; for the command and the backends, also those that run them
#   a test              the suites in it
#   a header            the tests of its folder and of the folders that include it; if these are more than 4, the smoke test instead
#   a document          its links; for README.md and docs/, also its commands
#   cmake/, tools/ …    the installed tree; the smoke test
# Lint runs each time. The smoke test is examples.minimal, which runs the whole library from a checkpoint to an image.
# Usage: tools/check.sh [JOBS]. Needs git and a configured build/release.
set -eu
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
build=build/release

changed=$({ git diff --name-only HEAD && git ls-files --others --exclude-standard; } | LC_ALL=C sort -u)
[ -n "$changed" ] || { echo "check: nothing has changed since the last commit" && exit 0; }

# The test programs bin/hearth_NAME_test, whose tests are NAME.SUITE.TEST.
programs=$(ninja -C $build -t targets all | sed -n 's|^bin/hearth_\([a-z0-9_]*\)_test: .*|\1|p')
is_program() { printf '%s\n' "$programs" | grep -qx "$1"; }

# FILE NAME, for each changed header and each test program with an object, of its own or of a tested folder, that includes it.
headers=$(printf '%s\n' "$changed" | grep '\.\(h\|inl\)$' || true)
reached=$([ -z "$headers" ] || ninja -C $build -t deps | awk -v root="$PWD/" -v headers="$headers" '
  BEGIN { count = split(headers, names, "\n"); for (i = 1; i <= count; ++i) wanted[root names[i]] = names[i] }
  /^[^ ]/ { program = match($1, /hearth_[a-z0-9_]*\.dir/) ? substr($1, RSTART + 7, RLENGTH - 11) : ""; sub(/_test$/, "", program) }
  /^ / && ($1 in wanted) && program != "" { print wanted[$1], program }' | LC_ALL=C sort -u)

# The programs that the nearest CMakeLists.txt above a file builds.
owners() {
  folder=$(dirname "$1")
  while [ ! -f "$folder/CMakeLists.txt" ]; do folder=$(dirname "$folder"); done
  for name in $(sed -nE 's/^ *(hearth_library\(|add_executable\(hearth_)([a-z0-9_]+).*/\2/p' "$folder/CMakeLists.txt" | sed 's/_test$//'); do
    if is_program "$name"; then echo "$name"; fi
  done
}

patterns='^lint\.(rules|links)' targets= sources=
# run FILE NAME [SUITES]: runs these tests because of the file.
run() {
  echo "check: $1: $2${3:+ ($3)}"
  case " $targets " in *" hearth_$2_test "*) ;; *) targets="$targets hearth_$2_test" ;; esac
  patterns="$patterns|^$2\\.${3:+(.*/)?($3)[./]}"
}
smoke() {
  echo "check: $1: the smoke test${2:+, because $2}"
  targets="$targets hearth hearth_example_minimal" patterns="$patterns|^examples\\."
}

for file in $changed; do
  case $file in
    *.cpp | *.h | *.inl) [ ! -f "$file" ] || sources="$sources $file" ;;
  esac
  case $file in
    README.md | docs/*.md | docs/benchmarks.* | tools/plot_benchmarks.sh) run "$file" docs ;;
    *.md | tools/*.sh | .clang-* | .git*) ;;  # lint
    assets/* | examples/*) smoke "$file" ;;
    Makefile | CMake* | cmake/* | tests/packaging/*)
      smoke "$file"
      patterns="$patterns|^packaging\\.commit"
      ;;
    *_test.cpp)
      suites=$(sed -nE 's/^[A-Z_]*TEST(_[FP])?\(([A-Za-z0-9_]+),.*/\2/p' "$file" 2>/dev/null | LC_ALL=C sort -u | paste -sd '|')
      for name in $(owners "$file"); do run "$file" "$name" "$suites"; done
      ;;
    *)
      own=$(owners "$file")
      for name in $own; do run "$file" "$name"; done
      case $file in
        src/cli/*) run "$file" command CommandTest ;;
        src/backends/*) run "$file" ops ;;
        *) [ -n "$own" ] || smoke "$file" "its folder has no tests" ;;
      esac
      others=$(printf '%s\n' "$reached" | awk -v file="$file" '$1 == file { print $2 }' | while read -r name; do
        if is_program "$name" && ! printf '%s\n' "$own" | grep -qx "$name"; then echo "$name"; fi
      done)
      if [ "$(printf '%s\n' "$others" | grep -c .)" -gt 4 ]; then
        smoke "$file" "$(printf '%s\n' "$others" | grep -c .) more test programs include it (make test runs them all)"
      else
        for name in $others; do run "$file" "$name"; done
      fi
      ;;
  esac
done

# shellcheck disable=SC2086  # names without blanks
[ -z "$sources" ] || tools/format.sh --check $sources || [ $? = 77 ]
# shellcheck disable=SC2086
[ -z "$targets" ] || cmake --build --preset release --parallel "$jobs" --target $targets
ctest --preset release --parallel "$jobs" --tests-regex "$patterns" --no-tests=error --progress
