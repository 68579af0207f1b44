#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of docs/peers.md from records: for each operator the ratios of backends' times, geometric means over its inputs.

    bench/peers_tables.py run.jsonl torch eager compiled:autotune          # columns: torch's time, then times over torch's
    bench/peers_tables.py run.jsonl torch eager compiled/eager             # compiled's over eager's, not over torch's
    bench/peers_tables.py run.jsonl torch eager --and bf16.jsonl           # further columns from another run, same order
    bench/peers_tables.py run.jsonl eager compiled:autotune --worst 1.05   # a line that names what is above, no table
    bench/peers_tables.py run.jsonl torch eager --speedups add.Tensor,mm.default   # README's: some operators, torch's time over"""

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


def pair_of(name, baseline):
    """Whose time over whose: NAME's over the baseline's, or A/B."""
    over, _, under = name.partition("/") if not name.startswith((".", "/")) else (name, "", "")
    return over, under or baseline


def cell(value, digits=2):
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def time_cell(us):
    return "-" if math.isnan(us) else f"{us:.0f}" if us >= 100 else f"{us:.3g}"


def print_speedups(times, baseline, columns, operators):
    """Plain text: some operators' inputs, the baseline's time, and how many times faster each backend is."""
    names = [over.rpartition(":")[2] for _, (over, _), _ in columns]
    rows = [["operator", "inputs", f"{baseline} [us]"] + ["x " + name for name in names]]
    for op in operators:
        bases = [t[baseline] for t in times[op].values() if baseline in t]
        rows.append([op, str(len(bases)), time_cell(geomean(bases))]
                    + [cell(1 / ratios[op]) if op in ratios else "-" for _, _, ratios in columns])
    rows.append(["geometric mean", "", ""] + [cell(1 / geomean(list(ratios.values()))) for _, _, ratios in columns])
    rows.append(["over so many operators", "", ""] + [str(len(ratios)) for _, _, ratios in columns])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for i, row in enumerate(rows):
        if i in (1, len(rows) - 2):
            print("\u2500" * (sum(widths) + 2 * len(widths) - 2))
        print("  ".join([row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]).rstrip())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("baseline")
    parser.add_argument("backends", nargs="+")
    parser.add_argument("--and", dest="others", action="append", default=[], metavar="RUN")
    parser.add_argument("--worst", type=float, help="only the means and the operators above this ratio")
    parser.add_argument("--speedups", metavar="OPERATORS", help="the baseline's time over the backends' for these, comma separated")
    options = parser.parse_args()
    runs = [times_of(path) for path in [options.run, *options.others]]
    pairs = [pair_of(name, options.baseline) for name in options.backends]
    columns = [(run, pair, ratios_of(run, *pair)) for run in runs for pair in pairs]
    if options.speedups:
        print_speedups(runs[0], options.baseline, columns, options.speedups.split(","))
        return
    for i, (_, (over, under), ratios) in enumerate(columns):
        which = f" (run {1 + i // len(options.backends)})" if options.others else ""
        print(f"{over} over {under}{which}: {cell(geomean(list(ratios.values())), 3)} over {len(ratios)} operators")
        if options.worst:
            above = sorted(((r, op) for op, r in ratios.items() if r > options.worst), reverse=True)
            print("  above:", ", ".join(f"{op} {cell(r)}" for r, op in above) or "none")
    if options.worst:
        return
    operators = sorted(columns[0][2], key=lambda op: -columns[0][2][op])
    print(f"\n| operator | {options.baseline} [us] | " + " | ".join(f"{over} / {under}" for _, (over, under), _ in columns) + " |")
    print("|---|" + "---:|" * (1 + len(columns)))
    for op in operators:
        base = geomean([t[options.baseline] for t in runs[0][op].values() if options.baseline in t])
        print(f"| {op} | {time_cell(base)} | " + " | ".join(cell(ratios.get(op)) for _, _, ratios in columns) + " |")


if __name__ == "__main__":
    main()
