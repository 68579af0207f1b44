#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang takes every C file that this build compiles, with the flags that it is compiled with, and has no warning for it. No code is
generated: that takes minutes.

usage: check_clang.py CLANG COMPILE_COMMANDS_JSON
Exit code 1 with what clang says of each file.
"""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys

# What is another compiler's, or concerns the code alone.
LEFT_OUT = re.compile(r"-fno-thread-jumps|-fpeel-loops|-falign-loops=.*|-f(no-)?sanitize.*|-fopenmp.*|-O\w|-g\w*")
ADDED = ["-fopenmp", "-fsyntax-only", "-Werror", "-Wno-unknown-warning-option"]


def command_of(clang, entry):
    words, kept = shlex.split(entry["command"])[1:], []
    if os.path.basename(shlex.split(entry["command"])[0]) == "ccache":
        words = words[1:]
    while words:
        word = words.pop(0)
        if word == "-o":
            words.pop(0)
        elif not LEFT_OUT.fullmatch(word):
            kept.append(word)
    return [clang] + kept + ADDED


def said_of(clang, entry):
    done = subprocess.run(command_of(clang, entry), cwd=entry["directory"], text=True, capture_output=True, check=False)
    return done.stderr if done.returncode != 0 else ""


clang, listed = sys.argv[1:3]
if not os.access(clang, os.X_OK):
    print("skipped: no clang is installed")
    sys.exit(0)
with open(listed, encoding="utf-8") as f:
    entries = [entry for entry in json.load(f) if entry["file"].endswith(".c")]
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    said = [text for text in pool.map(lambda entry: said_of(clang, entry), entries) if text]
for text in said:
    print(text, file=sys.stderr)
print(f"{len(entries)} compilations looked through by clang, {len(said)} with something to say")
sys.exit(1 if said or not entries else 0)
