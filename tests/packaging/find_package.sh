#!/bin/sh
# Installs hearth, moves the installed tree elsewhere, builds examples/minimal.cpp against it as a user's project would, and compares
# its image with that of the installed command and of the example in the build folder.
# Usage: find_package.sh CMAKE SOURCE BUILD EXAMPLE-PROGRAM
set -eu
cmake=$1 source=$2 build=$3 example=$4
unset HEARTH_ASSETS DESTDIR
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "find_package.sh: $*" >&2 && exit 1; }
# quietly COMMAND…: shows its output only if it fails.
quietly() { "$@" > "$folder/log" 2>&1 || { cat "$folder/log" >&2 && fail "failed: $*"; }; }

quietly "$cmake" --install "$build" --prefix "$folder/first"
mkdir "$folder/elsewhere"
mv "$folder/first" "$folder/elsewhere/second"
prefix=$folder/elsewhere/second
[ -z "$(find "$prefix" -name '*.so*')" ] || fail "a shared library was installed"
for path in "$source" "$build" "$folder/first"; do
  ! grep -rlF "$path" "$prefix/lib/cmake" "$prefix/include" || fail "installed with a path of this machine: $path"
done

quietly "$cmake" -S "$source/tests/packaging/outside" -B "$folder/build" -G Ninja -D CMAKE_PREFIX_PATH="$prefix" \
  -D EXAMPLE="$source/examples/minimal.cpp"
quietly "$cmake" --build "$folder/build"

cd "$folder"
quietly "$example" ours.png
quietly build/minimal theirs.png
quietly build/benchmarks
quietly "$prefix/bin/hearth" generate -p "a red house on green hills at sunset" --steps 12 --guidance 6 --sampler dpmpp_2m --seed 0 -o command.png
cmp ours.png theirs.png
cmp ours.png command.png

# The assets were those of the moved tree, not those of the sources.
rm -r "$prefix/share/hearth/demo-model"
for program in "build/minimal none.png" "$prefix/bin/hearth generate -p x --steps 1 -o none.png"; do
  # shellcheck disable=SC2086
  if $program > log 2>&1; then fail "still runs without its assets: $program"; fi
  grep -qF "$prefix/share/hearth/demo-model" log || { cat log >&2 && fail "does not name the assets that are missing: $program"; }
done
[ ! -e none.png ]
