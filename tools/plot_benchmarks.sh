#!/bin/sh
# Writes docs/benchmarks.svg from docs/benchmarks.tsv. With --check (the test docs.benchmarks) it compares instead: the committed plot must be
# the output of this script, and each row of the table must repeat a row of docs/performance.md. Needs only a shell and awk.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C
table=docs/benchmarks.tsv plot=docs/benchmarks.svg source=docs/performance.md

svg() {
  awk -F '\t' '
    BEGIN {
      width = 760; left = 150; unit = 105; right = width - 10  # unit: pixels of 1×
      color["Zen 5"] = "#d9622b"; color["Cascade Lake"] = "#3b82c4"; color["Zen 3"] = "#4f9d69"
      title["PyTorch"] = "Stable Diffusion 1.5 at 512 × 512: hearth’s speed, PyTorch 2.15 = 1"
      title["llama.cpp"] = "Language model of 1B parameters: hearth’s speed, llama.cpp = 1"
      measure["PyTorch"] = "s"; measure["llama.cpp"] = "tokens/s"
    }
    function add(line) { body = body line "\n" }
    function text(class, x, y, words, more) { add("<text class=\"" class "\" x=\"" x "\" y=\"" y "\"" more ">" words "</text>") }
    function line(class, x, from, to) { add("<line class=\"" class "\" x1=\"" x "\" x2=\"" x "\" y1=\"" from "\" y2=\"" to "\"/>") }
    function brief(value) { sub(/ \(.*/, "", value); gsub(/ … /, "–", value); return value }
    function close_panel(   i) {
      if (panel == "") return
      for (i = 1; i <= 3; ++i) line(i == 1 ? "one" : "grid", left + i * unit, top - 6, y)
    }
    /^#/ { next }
    $1 != panel {
      close_panel()
      panel = $1; label = ""
      y += panel == "PyTorch" ? 62 : 78
      text("title", 10, y - 36, title[panel])
      text("note", left + unit, y - 10, "1×", " text-anchor=\"middle\"")
      text("note", left + 2 * unit, y - 10, "2×", " text-anchor=\"middle\"")
      text("note", left + 3 * unit, y - 10, "3×", " text-anchor=\"middle\"")
      text("note", right, y - 10, "hearth / " panel ", " measure[panel], " text-anchor=\"end\"")
      top = y
    }
    {
      count = panel == "PyTorch" ? 1 : 3
      pitch = count == 1 ? 24 : 14
      if ($2 != label) {
        if (label != "" && count > 1) y += 9
        label = $2
        text("label", left - 10, y + count * pitch / 2 + 4, label, " text-anchor=\"end\"")
      }
      add("<rect x=\"" left "\" y=\"" y + 2 "\" width=\"" sprintf("%.1f", $6 * unit) "\" height=\"" pitch - 4 "\" rx=\"2\" fill=\"" color[$3] "\"/>")
      split($6, ratio, " ")
      text("value", sprintf("%.1f", left + (ratio[1] < 1 ? 1 : ratio[1]) * unit + 6), y + pitch / 2 + 4, ratio[1] "×")
      text("note", right, y + pitch / 2 + 4, brief($4) " / " brief($5), " text-anchor=\"end\"")
      y += pitch
    }
    END {
      close_panel()
      y += 28
      x = left
      n = split("Zen 5,Cascade Lake,Zen 3", machines, ",")
      split("AMD Zen 5 (AVX-512),Intel Cascade Lake (AVX-512),AMD Zen 3 (AVX2)", names, ",")
      for (i = 1; i <= n; ++i) {
        add("<rect x=\"" x "\" y=\"" y - 9 "\" width=\"10\" height=\"10\" rx=\"2\" fill=\"" color[machines[i]] "\"/>")
        text("note", x + 15, y, names[i])
        x += i == 2 ? 190 : 155
      }
      height = y + 14
      print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " width " " height "\" width=\"" width "\" height=\"" height "\" role=\"img\">"
      print "<title>How many times as fast hearth is as PyTorch and llama.cpp, on 2 CPU cores</title>"
      print "<style>"
      print "text { font: 12px -apple-system, \"Segoe UI\", \"Noto Sans\", Helvetica, Arial, sans-serif; fill: #59636e }"
      print ".title { font-size: 14px; font-weight: 600 } .value { font-size: 11px; font-weight: 600 } .note { font-size: 11px }"
      print ".title, .value, .label { fill: #1f2328 } .one { stroke: #59636e; stroke-width: 1.5 } .grid { stroke: #59636e; stroke-opacity: 0.25 }"
      print "@media (prefers-color-scheme: dark) { text { fill: #9198a1 } .title, .value, .label { fill: #f0f6fc } .one, .grid { stroke: #9198a1 } }"
      print "</style>"
      printf "%s", body
      print "</svg>"
    }' "$table"
}

if [ "${1:-}" != --check ]; then
  svg > "$plot"
  exit
fi
svg | cmp - "$plot" || { echo "$plot: does not match $table, run tools/plot_benchmarks.sh" >&2 && exit 1; }
awk -F '\t' '
  FILENAME ~ /md$/ { rows[++count] = $0; next }
  /^#/ { next }
  {
    for (i = 1; i <= count; ++i) if (index(rows[i], "| " $4 " |") && index(rows[i], "| " $5 " |") && index(rows[i], "| " $6 " ")) next
    print FILENAME ":" FNR ": no row of docs/performance.md has " $4 ", " $5 " and " $6
    missing = 1
  }
  END { exit missing }' "$source" "$table" >&2
