#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a large chrome trace of a small one: its events again and again, each time later by the trace's length.

    bench/repeat_trace.py resnet50.json.gz big.json 1073741824     # at least so many bytes; .gz by name

Metadata events come once. Ids that join calls and kernels (correlation, "External id", flow ids) are shifted too, so that every
copy's kernels belong to its own calls."""

import gzip
import json
import sys


def opened(path, mode):
    return gzip.open(path, mode + "t", encoding="utf-8") if path.endswith(".gz") else open(path, mode, encoding="utf-8")


def copies_of(event, period, ids):
    """A function that gives the event as text, n periods later. Times are in microseconds, as in the trace."""
    moved = dict(event)
    args = dict(moved.get("args", {}))

    def text(n):
        moved["ts"] = event["ts"] + n * period
        if "id" in event and isinstance(event["id"], int):
            moved["id"] = event["id"] + n * ids
        for key in ("correlation", "External id"):
            if isinstance(event.get("args", {}).get(key), int):
                args[key] = event["args"][key] + n * ids
        if args:
            moved["args"] = args
        return json.dumps(moved)

    return text


def main():
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} TRACE.json[.gz] BIG.json[.gz] BYTES")
    with opened(sys.argv[1], "r") as source:
        trace = json.load(source)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    timed = [e for e in events if e.get("ph") != "M" and isinstance(e.get("ts"), (int, float))]
    if not timed:
        sys.exit(f"{sys.argv[1]}: expected events with times, got none")
    first = min(e["ts"] for e in timed)
    length = max(e["ts"] + e.get("dur", 0) for e in timed) - first + 10
    ids = 1 + max([e["id"] for e in timed if isinstance(e.get("id"), int)]
                  + [e["args"][k] for e in timed for k in ("correlation", "External id")
                     if isinstance(e.get("args", {}).get(k), int)] + [0])
    makers = [copies_of(e, length, ids) for e in timed]
    wanted, written, rounds = int(sys.argv[3]), 0, 0
    with opened(sys.argv[2], "w") as out:
        out.write('{"traceEvents": [\n')
        separator = ""
        for e in (e for e in events if e.get("ph") == "M"):
            written += out.write(separator + json.dumps(e))
            separator = ",\n"
        while written < wanted:
            written += out.write(separator + ",\n".join(make(rounds) for make in makers))
            separator = ",\n"
            rounds += 1
        out.write("\n]}\n")
    print(f"{rounds} times {len(timed)} events, {written} bytes")


if __name__ == "__main__":
    main()
