#!/bin/sh
# Checks the content of the packages without building one: the component `runtime` runs from any folder, and with `bundle`, as in the
# tarball, it contains every shared library that a system may lack.
# Usage: contents.sh CMAKE SOURCE BUILD. Exit status 77 (ctest: skipped) without dpkg, which names the packages of those libraries.
set -eu
cmake=$1 source=$2 build=$3
command -v dpkg-query >/dev/null || exit 77
unset HEARTH_ASSETS DESTDIR
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "contents.sh: $*" >&2 && exit 1; }

for component in runtime bundle; do "$cmake" --install "$build" --component $component --prefix "$folder/first" > "$folder/log"; done
mv "$folder/first" "$folder/a folder"
cd "$folder/a folder"

[ "$(ls)" = "$(printf 'bin\nlib\nshare')" ] || fail "besides bin, lib and share there is: $(ls)"
[ "$(ls bin)" = hearth ] || fail "besides bin/hearth there is: $(ls bin)"
[ "$(ls lib)" = hearth ] && [ -z "$(find . -name '*.a' -o -name '*.h' -o -name '*.cmake')" ] || fail "files of the library are among those of the command"
for file in $(cd "$source/assets" && find . -type f); do cmp "$source/assets/$file" "share/hearth/$file"; done
for configs in "$source"/src/models/*/configs; do
  family=$(basename "$(dirname "$configs")")
  diff -r "$configs" "share/hearth/configs/$family" || fail "the configurations of $family differ"
done
cmp "$source/LICENSE" share/doc/hearth/copyright
for page in man/man1/hearth.1 man/man1/hearth-generate.1 bash-completion/completions/hearth zsh/site-functions/_hearth \
  fish/vendor_completions.d/hearth.fish; do [ -s "share/$page" ] || fail "share/$page is missing"; done

# Each library is the one next to the command, except those that every system has; each has its license.
others=$(ldd bin/hearth | grep ' => ' | grep -vF "=> $PWD/bin/../lib/hearth/" | grep -vE '^\s*lib(c|m|stdc\+\+|gcc_s)\.so' || true)
[ -z "$others" ] || fail "not bundled: $others"
[ -s share/doc/libpng16-16/copyright ] || fail "libpng comes without its license"

bin/hearth --version | grep -q '^hearth [0-9]' || fail "hearth --version: $(bin/hearth --version)"
cd / && "$folder/a folder/bin/hearth" generate -p x --steps 2 -W 64 -H 64 -o "$folder/a.png" > "$folder/log" 2>&1 || fail "$(cat "$folder/log")"
[ -s "$folder/a.png" ]
