#!/bin/sh
# Runs clang-format on every source.
#   tools/format.sh                  formats in place
#   tools/format.sh --check [FILE…]  changes nothing; fails and shows each line that is not formatted (the test lint.format)
# Exit status 77 (ctest: skipped) without clang-format 14, because other versions break lines differently.
set -eu
cd "$(dirname "$0")/.."

for clang_format in clang-format-14 clang-format; do
  command -v $clang_format >/dev/null && $clang_format --version | grep -q 'version 14\.' && break
  clang_format=
done
if [ -z "$clang_format" ]; then
  echo "format: clang-format 14 not found, install it with: apt-get install clang-format" >&2
  exit 77
fi

case "${1:-}" in
  "") tools/sources.sh | xargs -P "$(nproc)" -n 16 $clang_format -i ;;
  --check)
    shift
    { [ $# = 0 ] && tools/sources.sh || printf '%s\n' "$@"; } | xargs -P "$(nproc)" -n 16 $clang_format --dry-run --Werror || {
      echo "format: run 'make format'" >&2
      exit 1
    }
    ;;
  *)
    echo "format: unknown argument '$1'" >&2
    exit 2
    ;;
esac
