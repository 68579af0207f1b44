# SPDX-License-Identifier: Apache-2.0
"""The embedded suite's inputs with other sizes, types, layouts and numbers, drawn by chance: what a kernel takes for granted in the lines that
it was written for is not so in the next. Many of them mean nothing and are refused; nothing may crash, hang, differ from the reference, or
be refused by one backend alone, nor by eager where PyTorch takes it, if ASSAY_TORCH_PYTHON has one. ASSAY_SEED draws others, ASSAY_CHANGES
so many of each line. Where PyTorch differs is counted: it may be the one that errs."""
import collections
import json
import os
import random
import re
import subprocess
import unittest

from cli_case import ASSAY, QUICK, SANITIZER, SOURCE, Case, main

MOST_ELEMENTS = 300_000
TENSOR = re.compile(r"T\(\[([\d, ]*)\], (\w+)(?:, stride=\([^)]*\))?\)")
LIST = re.compile(r"\[([\d, ]*)\]")
INTEGER = re.compile(r"(?<![\w.\-'])-?\d+(?![\w.'])")
REAL = re.compile(r"(?<![\w.\-'])-?\d+\.\d+(?:e-?\d+)?(?![\w'])")
TYPE = re.compile(r"\], (\w+)(?=[,)])")
FLOATING = ["f16", "bf16", "f32", "f64"]
OTHERS = ["i8", "i16", "i32", "i64", "u8", "b8"]
REALS = ["0.0", "1.0", "-1.5", "2.5", "1e-05", "300", "-7", "70000.0", "1e+20", "-inf"]


def numbers(text):
    return [int(n) for n in text.split(",") if n.strip()]


def listed(values):
    return ", ".join(map(str, values))


def strides_by(sizes, order):
    """Dense, the dimension that order names first outermost."""
    strides, step = [0] * len(sizes), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(sizes[d], 1)
    return strides


def layout(draw, sizes):
    """Strides, or None for those of a tensor that is just made."""
    n = len(sizes)
    kind = draw.choice(["made", "made", "turned", "repeated", "apart", "rows apart", "channels last", "overlapping"])
    whole = list(range(n))
    if n == 0 or kind == "made":
        return None
    if kind == "turned":
        return strides_by(sizes, draw.sample(whole, n))
    if kind == "repeated":
        d = draw.randrange(n)
        return [0 if k == d else s for k, s in enumerate(strides_by(sizes[:d] + [1] + sizes[d + 1:], whole))]
    if kind == "apart":
        return [2 * s for s in strides_by(sizes, whole)]
    if kind == "rows apart":
        return strides_by(sizes[:-1] + [sizes[-1] + draw.choice([1, 3, 16])], whole)
    if kind == "channels last" and n > 2:
        return strides_by(sizes, [0, *range(2, n), 1])
    strides = strides_by(sizes, whole)
    return [max(1, strides[0] // 2), *strides[1:]]


def resized(draw, text):
    """Each size becomes another wherever it stands, so that most of what belongs together still does."""
    sizes = {n for t in TENSOR.finditer(text) for n in numbers(t.group(1))}
    others = {}
    for n in sorted(sizes):
        if n > 256:
            others[n] = draw.choice([64, 100, 127, 128, 255, 257, 300])
        elif n > 1 and draw.random() < 0.35:
            others[n] = draw.choice([0, 1, 2, n - 1, n + 1, n + 3, n // 2, 17, 33])
    return LIST.sub(lambda t: f"[{listed(others.get(n, n) for n in numbers(t.group(1)))}]", text)


def laid_out(draw, text):
    def of(match):
        sizes = numbers(match.group(1))
        strides = layout(draw, sizes)
        tail = "" if strides is None else f", stride=({listed(strides)}{',' if len(strides) == 1 else ''})"
        return f"T([{listed(sizes)}], {match.group(2)}{tail})"
    return TENSOR.sub(of, text)


def retyped(draw, text):
    """The floating types become one, at times each another; indices may be narrower."""
    one, alike = draw.choice(FLOATING if draw.random() < 0.8 else OTHERS), draw.random() < 0.9
    index = draw.choice(["i64", "i64", "i32"])

    def of(match):
        was = match.group(1)
        now = (one if alike else draw.choice(FLOATING)) if was in FLOATING else index if was == "i64" else was
        return f"], {now}"
    return TYPE.sub(of, text)


def renumbered(draw, text):
    """What is no part of a tensor."""
    parts = re.split(r"(T\([^)]*\)\)|T\([^)]*\))", text)
    for i, part in enumerate(parts):
        if not part.startswith("T("):
            part = INTEGER.sub(lambda n: draw.choice([n.group(), n.group(), n.group(), "0", "1", "2", "-1"]), part)
            part = REAL.sub(lambda n: draw.choice([*REALS, *[n.group()] * len(REALS)]), part)
            parts[i] = re.sub(r"\b(True|False)\b", lambda b: draw.choice([b.group(), b.group(), "True", "False"]), part)
    return "".join(parts)


def changed(draw, arguments):
    arguments = resized(draw, arguments)
    if draw.random() < 0.4:
        arguments = retyped(draw, arguments)
    if draw.random() < 0.8:
        arguments = laid_out(draw, arguments)
    return renumbered(draw, arguments) if draw.random() < 0.3 else arguments


def elements(arguments):
    total = 0
    for t in TENSOR.finditer(arguments):
        product = 1
        for n in numbers(t.group(1)):
            product *= n
        total += product
    return total


def changed_suite(text, seed, each):
    draw, lines, operator = random.Random(seed), [], ""
    for line in text.splitlines():
        if line.startswith("Operator:"):
            operator = line
        for _ in range(each if line.startswith("cnt:") else 0):
            count, arguments = line.split(", ", 1)
            other = changed(draw, arguments)
            if elements(other) <= MOST_ELEMENTS:
                lines += [operator, f"{count}, {other}"]
    return "\n".join(lines) + "\n"


def has_none(text):
    return any(0 in numbers(t.group(1)) for t in TENSOR.finditer(text))


def was_refused(record):
    return record["status"] in ("unsupported", "skipped") or (record["status"] == "failed" and "signal" not in record["reason"] and "killed" not in record["reason"])


class ChangedInputs(Case):
    def records(self, text, backends):
        """All, and by operator and input, in the order of backends."""
        path = self.write("changed.txt", text)
        named = [word for backend in backends for word in ("--backend", backend)]
        run = subprocess.run([ASSAY, "operators", *QUICK, "--inputs", path, "--dtype", "as-recorded", "--max-samples", "100000", *named,
                              "--baseline", "eager", "--quiet", "--jsonl", "-"], capture_output=True, cwd=self.folder)
        self.assertIn(run.returncode, (0, 1, 4), run.stderr[-1500:])
        records = [r for r in map(json.loads, run.stdout.splitlines()) if r["kind"] == "operator"]
        by_input = {}
        for r in records:
            by_input.setdefault((r["operator"], r["input"]), []).append(r)
        return records, by_input

    def setUp(self):
        super().setUp()
        self.seed, each = int(os.environ.get("ASSAY_SEED", "20261127")), int(os.environ.get("ASSAY_CHANGES", "1"))
        with open(os.path.join(SOURCE, "suites", "embedded.txt")) as f:
            self.text = changed_suite(f.read(), self.seed, each)

    def test_backends_agree(self):
        records, by_input = self.records(self.text, ["eager", *([] if SANITIZER else ["compiled"])])
        for r in records:
            self.assertTrue(r["status"] == "ok" or was_refused(r), f"seed {self.seed}: {r['repro']}\n{r['reason']}")
        for (operator, text), both in by_input.items():
            if not has_none(text): # of no elements no index is out of range, or all of them are
                self.assertEqual(len({r["status"] for r in both}), 1, f"seed {self.seed}: {operator} {text}: {[r['reason'] for r in both]}")
        good = sum(r["status"] == "ok" for r in records)
        print(f"seed {self.seed}: {good} of {len(records)} ok, the rest refused")
        self.assertGreater(good, len(records) / 2)

    @unittest.skipUnless(os.environ.get("ASSAY_TORCH_PYTHON"), "ASSAY_TORCH_PYTHON names no PyTorch")
    def test_what_pytorch_takes_is_taken(self):
        records, by_input = self.records(self.text, ["eager", "torch"])
        for eager, torch in by_input.values():
            if torch["status"] == "ok":
                self.assertEqual(eager["status"], "ok", f"seed {self.seed}: {eager['repro']}\n{eager['reason']}")
        differs = collections.Counter(r["operator"] for r in records if r["status"] == "mismatch")
        print(f"seed {self.seed}: PyTorch differs in {dict(differs)}")


if __name__ == "__main__":
    main()
