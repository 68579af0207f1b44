# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of one call of add.Tensor on two 4 x 4 f32 tensors through the C API, and prints them.

usage: callgrind_add.py PROGRAM MOST_INSTRUCTIONS
Exit code 77 (skipped) without valgrind.
"""
import re
import shutil
import subprocess
import sys
import tempfile

program, most = sys.argv[1], int(sys.argv[2])
if shutil.which("valgrind") is None:
    print("skipped: valgrind is not there")
    sys.exit(77)


def instructions(calls, *mode):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, str(calls), *mode],
                              capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"})
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not collected:
        sys.exit(done.stdout + done.stderr)
    return int(collected.group(1))


few, many = 100, 1100
per_call = (instructions(many) - instructions(few)) / (many - few)
changing = (instructions(many, "turns") - instructions(few, "turns")) / (many - few)
print(f"add.Tensor on two 4 x 4 f32 tensors: {per_call:.1f} instructions a call (limit {most})")
# The limit is for the first; this is what a program pays whose calls of an operator change their shapes each time.
print(f"in turns with 4 x 3 tensors: {changing:.1f} instructions a call (no limit)")
sys.exit(0 if per_call < most else 1)
