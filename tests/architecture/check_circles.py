#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No two source files need each other in a circle: whatever a file calls, or reads, lies below it. Read from what the
compiler made of them, so neither headers nor comments can say otherwise.

usage: check_circles.py NM LIST_OF_OBJECT_FILES
Exit code 1 with each circle, and the names that tie it.
"""
import re
import subprocess
import sys

nm, listed = sys.argv[1:3]
with open(listed, encoding="utf-8") as f:
    objects = [line for line in f.read().splitlines() if line]


def name_of(path):
    """The source file, from .../TARGET.dir/src/FILE.c.o: the same for each instruction set that it is built for."""
    return re.sub(r"^.*?\.dir/(\./)?", "", path).removesuffix(".o")


defines, needs = {}, {}
done = subprocess.run([nm, "-P", "-g", "-A"] + objects, text=True, capture_output=True, check=True)
for line in done.stdout.splitlines():
    path, symbol, kind = re.match(r"(.*): (\S+) (\S)", line).groups()
    if kind in "Uvw":
        needs.setdefault(name_of(path), set()).add(symbol)
    else:
        defines[symbol] = name_of(path)

below = {}  # file -> file that it needs -> by which names
for file, symbols in needs.items():
    for symbol in sorted(symbols):
        other = defines.get(symbol, file)
        if other != file:
            below.setdefault(file, {}).setdefault(other, []).append(symbol)


def circles():
    """Tarjan's strongly connected components of more than one file, without recursion."""
    order, low, stack, found = {}, {}, [], []
    for start in sorted(below):
        work = [(start, None)] if start not in order else []
        while work:
            file, rest = work.pop()
            if rest is None:
                order[file] = low[file] = len(order)
                stack.append(file)
                rest = iter(sorted(below.get(file, {})))
            for other in rest:
                if other not in order:
                    work += [(file, rest), (other, None)]
                    break
                if other in stack:
                    low[file] = min(low[file], order[other])
            else:
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[file])
                if low[file] == order[file]:
                    at = stack.index(file)
                    if len(stack) - at > 1:
                        found.append(stack[at:])
                    del stack[at:]
    return found


bad = circles()
for circle in bad:
    print("files that need each other in a circle:")
    for file in sorted(circle):
        for other, names in sorted(below[file].items()):
            if other in circle:
                print(f"  {file} -> {other}: {', '.join(names[:8])}{' ...' if len(names) > 8 else ''}")
print("move what they share into a file below both" if bad else f"no circles among {len(set(map(name_of, objects)))} files")
sys.exit(1 if bad else 0)
