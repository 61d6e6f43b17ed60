#!/bin/sh
# Runs clang-tidy on the sources that BUILD_DIR compiles, except tests (`make lint`).
#   tools/tidy.sh BUILD_DIR
# A file is checked again only if it, one of our headers that it includes (as recorded by ninja), or .clang-tidy has changed:
# BUILD_DIR/tidy contains one empty file per clean state.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
build=${1:?tidy: which build folder?}
[ -f "$build/compile_commands.json" ] || {
  echo "tidy: $build: no compile_commands.json, expected a configured build folder" >&2
  exit 2
}

for clang_tidy in clang-tidy-14 clang-tidy; do
  command -v $clang_tidy >/dev/null && $clang_tidy --version | grep -q 'version 14\.' && break
  clang_tidy=
done
if [ -z "$clang_tidy" ]; then
  echo "tidy: clang-tidy 14 not found, install it with: apt-get install clang-tidy" >&2
  exit 2
fi

stamps=$build/tidy
mkdir -p "$stamps"
config=$(cksum <.clang-tidy)

# One line per source: the source, then every file of ours that its object depends on.
ninja -C "$build" -t deps | awk -v root="$root/" '
  /^[^ ].*: #deps/ { source = ""; next }
  NF == 0 { if (source != "") print source headers; source = ""; next }
  { file = $1 }
  !sub("^([.][.]/)+", "", file) { if (index(file, root) != 1) next; file = substr(file, length(root) + 1) }
  source == "" { source = file; headers = ""; next }
  { headers = headers " " file }
  END { if (source != "") print source headers }' | grep -v '^tests/\|^build/\|^[^ ]*_test\.cpp' | LC_ALL=C sort -u >"$stamps/sources"
[ -s "$stamps/sources" ] || {
  echo "tidy: $build: nothing is built, expected a finished build" >&2
  exit 2
}

while read -r source headers; do
  [ -f "$source" ] || continue  # ninja still lists deleted files
  # shellcheck disable=SC2086  # the headers are words
  stamp=$stamps/$( (echo "$config" && cat "$source" $headers 2>/dev/null) | sha256sum | cut -c1-32)
  [ -f "$stamp" ] || echo "$source $stamp"
done <"$stamps/sources" >"$stamps/changed"

echo "tidy: $(wc -l <"$stamps/changed") of $(wc -l <"$stamps/sources") sources changed since they were last clean"
export clang_tidy build
xargs -P "$(nproc)" -L 1 sh -c '
  if $clang_tidy -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option "$0" 2>"$1.log"; then
    touch "$1"
    rm "$1.log"
  else
    grep -v "warnings generated\|warnings treated as errors" "$1.log" >&2
    rm "$1.log"
    exit 1
  fi' <"$stamps/changed"
