#!/bin/sh
# Checks the Markdown files (the test lint.links): every relative link names a file that exists, every anchor a heading in it, and
# every path in `backquotes` that starts with a folder of the repository exists. Prints FILE:LINE: LINK, and fails. Needs only a shell and awk.
set -eu
cd "$(dirname "$0")/.."
files=$(find . \( -path ./.git -o -path ./build \) -prune -o -name '*.md' -print | sed 's|^\./||' | LC_ALL=C sort)

# The anchors that GitHub gives to the headings: FILE#ANCHOR.
# shellcheck disable=SC2086  # names without blanks
anchors=$(awk '
  FNR == 1 { inside = 0; split("", seen) }
  /^ *```/ { inside = !inside }
  inside || !/^#+ / { next }
  {
    sub(/^#+ +/, ""); gsub(/\]\([^)]*\)/, ""); $0 = tolower($0)
    gsub(/[][!"#$%&'"'"'()*+,.\/:;<=>?@\\^`{|}~…’“”–—]/, ""); gsub(/ /, "-")
    print FILENAME "#" $0 ($0 in seen ? "-" seen[$0] : "")
    ++seen[$0]
  }' $files)

# FILE LINE KIND TARGET for each link and each path in backquotes.
# shellcheck disable=SC2086
targets=$(awk '
  FNR == 1 { inside = 0 }
  /^ *```/ { inside = !inside }
  inside { next }
  {
    text = $0
    while (match(text, /`[^`]*`/)) {
      code = substr(text, RSTART + 1, RLENGTH - 2)
      text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
      if (code ~ /^(src|include|tests|tools|docs|assets|cmake|examples|bench)\/[a-z0-9_.\/-]+$/) print FILENAME, FNR, "path", code
    }
    while (match(text, /\]\([^) ]+|src="[^"]+/)) {
      skip = substr(text, RSTART, 1) == "s" ? 5 : 2
      print FILENAME, FNR, "link", substr(text, RSTART + skip, RLENGTH - skip)
      text = substr(text, RSTART + RLENGTH)
    }
  }' $files)

breaches=$(printf '%s\n' "$targets" | while read -r file line kind target; do
  case $kind:$target in
    *:http://* | *:https://* | *:mailto:*) continue ;;
    path:*) path=$target ;;
    link:\#*) path=$file ;;
    *) path=$(dirname "$file")/${target%%#*} ;;
  esac
  if [ ! -e "$path" ]; then
    echo "$file:$line: $target   <- does not exist"
    continue
  fi
  case $target in
    *\#*)
      path=$(realpath --relative-to=. "$path")
      printf '%s\n' "$anchors" | grep -qxF "$path#${target#*#}" || echo "$file:$line: $target   <- no heading has this anchor"
      ;;
  esac
done)
[ -z "$breaches" ] && exit 0
printf '%s\n' "$breaches" >&2
exit 1
