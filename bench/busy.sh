#!/bin/sh
# How much a busy machine slows a step down: `bench/busy.sh [hearth [PROCESSES]]` measures the UNet step with all processors, first
# alone, then beside PROCESSES (1) endless loops. With T threads on T processors and one loop, an even share of the processors gives
# T + 1 takers: the step should take about (T + 1) / T as long, and never much more than 1.6 times for T = 2.
set -eu
hearth=${1:-build/release/bin/hearth}
processes=${2:-1}
loops=""
trap 'for p in $loops; do kill "$p" 2>/dev/null || true; done' EXIT INT TERM
step() {
  told=$("$hearth" bench sd15 --json --repetitions 5)  # alone, so that its failure ends this
  echo "$told" | sed 's/.*"unet_step":{[^}]*"seconds":\([0-9.e-]*\).*/\1/'
}
alone=$(step)
i=0
while [ "$i" -lt "$processes" ]; do
  sh -c 'while :; do :; done' &
  loops="$loops $!"
  i=$((i + 1))
done
beside=$(step)
echo "$alone $beside" | awk -v n="$processes" '{ printf "alone %.3f s, beside %d busy processes %.3f s: %.2f times as long\n", $1, n, $2, $2 / $1 }'
