#!/bin/sh
# Tests cmake/commit.cmake in a git repository, in the tarball of `git archive`, and in neither. Usage: commit.sh CMAKE SOURCE
# Exit status 77 (ctest: skipped) without git.
set -eu
cmake=$1 source=$2
command -v git >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
git() { command git -C "$folder/tree" -c user.name=a -c user.email=a@example.org -c commit.gpgsign=false "$@"; }

# expect TREE TEXT: what the generated source returns.
expect() {
  "$cmake" -D SOURCE="$1" -D OUTPUT="$folder/commit.cpp" -P "$source/cmake/commit.cmake"
  grep -qF "return \"$2\";" "$folder/commit.cpp" || {
    echo "commit.sh: expected \"$2\", found:" && cat "$folder/commit.cpp"
    exit 1
  } >&2
}

mkdir -p "$folder/tree/cmake"
cp "$source/.gitattributes" "$folder/tree/"
cp "$source/cmake/commit.txt" "$folder/tree/cmake/"
# shellcheck disable=SC2016
printf '$Format:%%H$\n' | cmp - "$folder/tree/cmake/commit.txt" || exit 0  # this is such a tarball itself
expect "$folder/tree" ""

git init -q && git add . && git commit -qm first && git tag -m tag v1
first=$(git rev-parse HEAD | cut -c1-12)
expect "$folder/tree" "$first"
touch -d @1 "$folder/commit.cpp"
expect "$folder/tree" "$first"
[ "$(stat -c %Y "$folder/commit.cpp")" = 1 ] || { echo "commit.sh: the same commit was written again" >&2 && exit 1; }
echo >> "$folder/tree/.gitattributes"
expect "$folder/tree" "$first-dirty"

mkdir "$folder/unpacked"
git archive HEAD | tar -x -C "$folder/unpacked"
expect "$folder/unpacked" "$first"
