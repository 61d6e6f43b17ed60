#!/usr/bin/env python3
"""Breaks one line at a time and says whether a test notices.

    tools/mutate.py hearth_ops_test src/ops/conv.cpp:22 's/<=/</'     # one mutation
    tools/mutate.py hearth_ops_test --filter 'Conv*' < mutations.txt  # many: lines FILE:LINE EXPRESSION

The expression is sed's (-E), applied to that line alone. For each mutation the test program is rebuilt and run:
  killed     a test failed, crashed or ran too long
  SURVIVED   every test passed: either the line is not tested or the mutation changes nothing
  no build   the compiler refused it, which proves nothing
  no change  the expression did not match
The source is restored whatever happens. Exit status 1 when anything survived or could not be tried.
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(command, timeout=None):
    """Exit status and output; status None when it ran too long."""
    child = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True
    )
    try:
        output, _ = child.communicate(timeout=timeout)
        return child.returncode, output
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)  # what it has started, too
            child.communicate()


def replace(path, content):
    """The file as a whole or not at all, whenever this is interrupted."""
    new = path.with_suffix(path.suffix + ".mutate")
    new.write_bytes(content)
    shutil.copymode(path, new)
    os.replace(new, path)


def build(args):
    return run(["cmake", "--build", f"build/{args.preset}", "-j", str(args.jobs), "--target", args.program])


def test(args):
    command = [f"build/{args.preset}/bin/{args.program}", "--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=" + args.filter]
    return run(command, args.timeout)


def mutate(args, place, expression):
    """What became of one mutation."""
    name, _, line = place.rpartition(":")
    path = ROOT / name
    original = path.read_bytes()
    status, mutated = run(["sed", "-E", f"{int(line)}{expression}", str(path)])
    if status != 0:
        return f"no change  ({mutated.strip()})"
    if mutated.encode() == original:
        return "no change"
    try:
        replace(path, mutated.encode())
        if build(args)[0] != 0:
            return "no build"
        start = time.monotonic()
        status, output = test(args)
        if status == 0:
            return "SURVIVED"
        failed = [l.split("]", 1)[1].split(",")[0].split(" (")[0].strip() for l in output.splitlines() if l.startswith("[  FAILED  ]")]
        why = "ran too long" if status is None else failed[0] if failed else f"status {status}"
        return f"killed     by {why}, {time.monotonic() - start:.1f} s"
    finally:
        replace(path, original)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the test program, e.g. hearth_ops_test")
    parser.add_argument("mutation", nargs="*", help="FILE:LINE EXPRESSION; without it, from standard input")
    parser.add_argument("--filter", default="*", help="tests to run, as for --gtest_filter (default: all)")
    parser.add_argument("--preset", default="release", help="build preset, configured already (default: release)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for a test run (default: 600)")
    parser.add_argument("--jobs", type=int, default=2, help="compile jobs (default: 2)")
    args = parser.parse_intermixed_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the source is restored then, too
    if len(args.mutation) not in (0, 2):
        parser.error("a mutation is FILE:LINE EXPRESSION")
    lines = [" ".join(args.mutation)] if args.mutation else sys.stdin.read().splitlines()
    mutations = [l.split(None, 1) for l in lines if l.strip() and not l.startswith("#")]
    for m in mutations:
        if len(m) != 2 or not m[0].rpartition(":")[2].isdigit() or not (ROOT / m[0].rpartition(":")[0]).is_file():
            parser.error(f"'{' '.join(m)}' is not FILE:LINE EXPRESSION")

    for what, step in (("build", build), ("pass", test)):
        status, output = step(args)
        if status != 0:
            sys.exit(f"mutate: {args.program} does not {what} as it stands:\n{output[-2000:]}")
    bad = 0
    try:
        for place, expression in mutations:
            result = mutate(args, place, expression)
            bad += not result.startswith("killed")
            print(f"{place} {expression}: {result}", flush=True)
    finally:
        build(args)  # the program again as the source says
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
