#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of docs/peers.md from records: for each operator the ratios of backends' times, geometric means over its inputs.

    bench/peers_tables.py run.jsonl torch eager compiled:autotune          # columns: torch's time, then times over torch's
    bench/peers_tables.py run.jsonl torch eager --and bf16.jsonl           # further columns from another run, same order
    bench/peers_tables.py run.jsonl eager compiled:autotune --worst 1.05   # a line that names what is above, no table"""

import argparse
import collections
import json
import math


def times_of(path):
    """{operator: {input: {backend: median in us}}} of the points that are ok."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            r = json.loads(line)
            if r.get("status") == "ok" and r.get("median_ns"):
                place = (r["input"], tuple(r.get("models") or ()))
                found[r["operator"].removeprefix("aten.")][place][r["backend"]] = r["median_ns"] / 1000
    return found


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def ratios_of(times, over, under):
    """{operator: geometric mean over its inputs of over's time / under's}."""
    per_input = {op: [t[over] / t[under] for t in inputs.values() if over in t and under in t] for op, inputs in times.items()}
    return {op: geomean(values) for op, values in per_input.items() if values}


def cell(value, digits=2):
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def time_cell(us):
    return "-" if math.isnan(us) else f"{us:.0f}" if us >= 100 else f"{us:.3g}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("baseline")
    parser.add_argument("backends", nargs="+")
    parser.add_argument("--and", dest="others", action="append", default=[], metavar="RUN")
    parser.add_argument("--worst", type=float, help="only the means and the operators above this ratio")
    options = parser.parse_args()
    runs = [times_of(path) for path in [options.run, *options.others]]
    columns = [(run, name, ratios_of(run, name, options.baseline)) for run in runs for name in options.backends]
    for i, (_, name, ratios) in enumerate(columns):
        which = f" (run {1 + i // len(options.backends)})" if options.others else ""
        print(f"{name} over {options.baseline}{which}: {cell(geomean(list(ratios.values())), 3)} over {len(ratios)} operators")
        if options.worst:
            above = sorted(((r, op) for op, r in ratios.items() if r > options.worst), reverse=True)
            print("  above:", ", ".join(f"{op} {cell(r)}" for r, op in above) or "none")
    if options.worst:
        return
    operators = sorted(columns[0][2], key=lambda op: -columns[0][2][op])
    print(f"\n| operator | {options.baseline} [us] | " + " | ".join(f"{name} / {options.baseline}" for _, name, _ in columns) + " |")
    print("|---|" + "---:|" * (1 + len(columns)))
    for op in operators:
        base = geomean([t[options.baseline] for t in runs[0][op].values() if options.baseline in t])
        print(f"| {op} | {time_cell(base)} | " + " | ".join(cell(ratios.get(op)) for _, _, ratios in columns) + " |")


if __name__ == "__main__":
    main()
