#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the code to the plan in docs/architecture.md: who includes whom, what each file begins with, unique names,
headers that compile alone, fractions that no locale spells.

usage: check_architecture.py SOURCE_FOLDER C_COMPILER
Exit code 1 with one line per violation.
"""
import os
import re
import subprocess
import sys

root, compiler = sys.argv[1:3]
violations = []


def violation(path, line, text):
    violations.append(f"{path}{':' + str(line) if line else ''}: {text}")


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def files(*folders, endings):
    for folder in folders:
        for at, folders_below, names in os.walk(os.path.join(root, folder)):
            folders_below[:] = sorted(f for f in folders_below if not f.startswith(".") and f != "__pycache__")
            for name in sorted(names):
                if name.endswith(endings):
                    yield os.path.relpath(os.path.join(at, name), root)


# --- the plan ---------------------------------------------------------------------------------------------------------

def read_plan():
    """The block of docs/architecture.md that begins with ```rooms: `ROOM: ROOMS it includes`. Lower rooms come first."""
    text = read("docs/architecture.md")
    block = re.search(r"^```rooms\n(.*?)^```", text, re.M | re.S)
    if not block:
        sys.exit("docs/architecture.md: expected a block ```rooms")
    allowed = {}
    for line in block.group(1).splitlines():
        room, _, below = line.partition(":")
        reach = set()
        for b in below.split():
            if b not in allowed:
                sys.exit(f"docs/architecture.md: room {room.strip()} names {b}, which is no room above its line")
            reach |= {b} | allowed[b]
        allowed[room.strip()] = reach
    return allowed


plan = read_plan()


def room_of(path):
    """The longest room that the path lies in. Public headers are the room `assay`."""
    parts = re.sub(r"^(src|include)/", "", path).split("/")[:-1]
    while parts and "/".join(parts) not in plan:
        parts.pop()
    return "/".join(parts)


def check_includes():
    for path in files("src", "include", endings=(".c", ".h", ".cu")):
        room = room_of(path)
        if not room:
            violation(path, 0, "lies in no room of docs/architecture.md")
            continue
        for number, line in enumerate(read(path).splitlines(), 1):
            m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not m:
                continue
            target = m.group(1)
            if not any(os.path.exists(os.path.join(root, folder, target)) for folder in ("src", "include")):
                violation(path, number, f'"{target}": expected a full path from src/ or include/')
                continue
            other = room_of(target)
            if other != room and other not in plan[room]:
                violation(path, number, f'{room} may not include "{target}" ({other or "no room"})')


# --- files ------------------------------------------------------------------------------------------------------------

def check_beginnings():
    """Line 1 (or 2, behind #!) names the licence; the next one begins a comment that says what the file is for."""
    sources = list(files("src", "include", "tests", "examples", "bench", endings=(".c", ".h", ".cu")))
    for path in sources:
        if path.startswith("tests/engine/golden/"):  # written by the compiler
            continue
        lines = read(path).splitlines() + ["", ""]
        if lines[0] != "/* SPDX-License-Identifier: Apache-2.0 */":
            violation(path, 1, "expected the SPDX line")
        if not re.match(r"/\* \S", lines[1]):
            violation(path, 2, "expected a comment that says what the file is for")
    scripts = list(files("cmake", "tests", "examples", endings=(".cmake", ".py", ".sh", "CMakeLists.txt")))
    for path in scripts + ["CMakeLists.txt", "check", "quickstart"]:
        lines = read(path).splitlines() + ["", ""]
        first = 1 if lines[0].startswith("#!") else 0
        if lines[first] != "# SPDX-License-Identifier: Apache-2.0":
            violation(path, first + 1, "expected the SPDX line")
        if not re.match(r'# \S|"""\S', lines[first + 1]):
            violation(path, first + 2, "expected a comment that says what the file is for")


# Rooms whose files may share a name, because they are one subject seen from two sides: an operator family's shared code,
# rows and kernels; a backend and what it runs; an experiment and its verb; a public header and the one inside.
twins = [
    {"engine/schema", "engine/ops", "engine/kernels", "engine/backend"},
    {"cli", "lab/experiment"},
    {"assay", "base"},
    {"assay", "engine/tensor"},
    {"assay", "engine/backend"},
    {"assay", "engine/api"},
]


def check_names():
    seen = {}
    for path in files("src/base", "src/device", "src/engine", "src/lab", "src/cli", "include", endings=(".c", ".h")):
        # The engine and the lab are two libraries: their names are compared each for itself.
        wing = "lab" if path.startswith(("src/lab", "src/cli")) else "engine"
        seen.setdefault((wing, os.path.basename(path)), []).append(path)
    for paths in seen.values():
        for i, a in enumerate(paths):
            for b in paths[:i]:
                rooms = {room_of(a), room_of(b)}
                devices = {os.path.basename(os.path.dirname(p)) for p in (a, b)} == {"cpu", "cuda"}
                if not devices and not (len(rooms) == 2 and any(rooms <= t for t in twins)):
                    violation(a, 0, f"has the basename of {b}")


def check_headers():
    """A header compiles alone. One without an include guard, or that begins with the word, is a template: part of the
    file that includes it."""
    flags = ["-std=gnu17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-unused-function",
             "-D_GNU_SOURCE", "-DISA_NAME=baseline", "-Iinclude", "-Isrc", "-Itests", "-x", "c", "-"]
    for path in files("src", "include", endings=".h"):
        text = read(path)
        guard = re.search(r"^#ifndef (\w+)\n#define \1$", text, re.M)
        if not guard or text.splitlines()[1].startswith("/* Template"):
            continue
        wanted = re.sub(r"\W", "_", re.sub(r"^(src|include)/", "", path)).upper()
        if guard.group(1) != wanted:
            violation(path, 0, f"its guard is {guard.group(1)}, expected {wanted}")
        name = re.sub(r"^(src|include)/", "", path)
        done = subprocess.run([compiler] + flags, input=f'#include "{name}"\n', text=True, cwd=root, capture_output=True)
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if " error: " in line), "the compiler gives no reason")
            violation(path, 0, "does not compile alone: " + first)


# --- numbers ----------------------------------------------------------------------------------------------------------

fraction = re.compile(r"%[-+ #0']*(\d+|\*)?(\.(\d+|\*))?[lL]?[aefgAEFG]")
# What takes a va_list prints what its callers say. Text of the project's own functions goes through base/c_locale.h.
reads_or_prints = re.compile(r"\b(strto(?:d|f|ld)(?:_l)?|atof|v(?:f|s|sn|d|as)?printf)\(|"
                             r"\b((?:f|s|sn|d|as)?printf|[fs]?scanf)(\((?:[^\"();]|\"(?:[^\"\\]|\\.)*\"|\((?:[^()\"]|\([^()]*\))*\))*)")


def check_fractions():
    """A program's locale may write 0,5: base/c_locale.h alone reads and prints fractions."""
    for path in files("src", endings=(".c", ".h")):
        if path == "src/base/c_locale.c":
            continue
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), read(path), flags=re.S)
        for m in reads_or_prints.finditer(text):
            literals = re.findall(r'"(?:[^"\\]|\\.)*"', m.group(3) or "")
            if m.group(1) or any(fraction.search(literal.replace("%%", "")) for literal in literals):
                violation(path, text.count("\n", 0, m.start()) + 1, f"{m.group(1) or m.group(2)} spells fractions as the "
                          "locale does; expected a function of base/c_locale.h")


check_includes()
check_beginnings()
check_names()
check_headers()
check_fractions()
print("\n".join(violations) if violations else f"the code is as docs/architecture.md plans it: {len(plan)} rooms")
sys.exit(1 if violations else 0)
