#!/bin/sh
# How much a busy machine slows down a step: `bench/busy.sh [hearth [PROCESSES]]` measures the UNet step on all CPUs, first
# alone, then next to PROCESSES (1) endless loops. With T threads on T CPUs and one loop, T + 1 threads share the CPUs evenly:
# the step should take about (T + 1) / T times as long, and never much more than 1.6 times for T = 2.
set -eu
hearth=${1:-build/release/bin/hearth}
processes=${2:-1}
loops=""
trap 'for p in $loops; do kill "$p" 2>/dev/null || true; done' EXIT INT TERM
step() {
  report=$("$hearth" bench sd15 --json --repetitions 5)  # a separate command, so that its failure ends the script
  echo "$report" | sed 's/.*"unet_step":{[^}]*"seconds":\([0-9.e-]*\).*/\1/'
}
alone=$(step)
i=0
while [ "$i" -lt "$processes" ]; do
  sh -c 'while :; do :; done' &
  loops="$loops $!"
  i=$((i + 1))
done
beside=$(step)
echo "$alone $beside" | awk -v n="$processes" '{ printf "alone %.3f s, with %d busy processes %.3f s: %.2f times as long\n", $1, n, $2, $2 / $1 }'
