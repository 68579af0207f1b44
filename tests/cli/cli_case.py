# SPDX-License-Identifier: Apache-2.0
"""What the tests of the program share: running it, recorded inputs in a folder of their own, records read and checked.

Each test file is run as: test_NAME.py ASSAY SOURCE_FOLDER PLUGIN_FOLDER SANITIZER
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ASSAY, SOURCE, PLUGINS = (os.path.abspath(a) for a in sys.argv[1:4])
SANITIZER = sys.argv[4] if len(sys.argv) > 4 else ""

# Fast and quiet: one sample, no least time. What is tested is never a time.
QUICK = ["--repeats", "1", "--min-time", "0"]

RELU = "Operator: aten.relu.default\ncnt: 3, ((T([4, 5], f32),), {})\ncnt: 1, ((T([7], f32),), {})\n"


def quick_beside(arguments):
    """QUICK less what the arguments say themselves: an option takes one value."""
    return [w for i in range(0, len(QUICK), 2) if QUICK[i] not in arguments for w in QUICK[i:i + 2]]


class Case(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as f:
            f.write(content.encode() if isinstance(content, str) else content)
        return self.path(name)

    def run_assay(self, *arguments, code=0, stdin=b"", env=None, timeout=120):
        """Runs assay in the test's folder; the exit code must be `code`, None: any. The result has stdout and stderr as text."""
        done = subprocess.run([ASSAY, *arguments], input=stdin, capture_output=True, cwd=self.folder, timeout=timeout,
                              env={**os.environ, **(env or {})})
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        shown = f"{shlex.join(done.args)}\nstdout: {done.stdout[-1500:]}\nstderr: {done.stderr[-1500:]}"
        self.assertEqual(done.returncode, done.returncode if code is None else code, shown)
        return done

    def operators(self, *arguments, **options):
        return self.run_assay("operators", *quick_beside(arguments), *arguments, **options)

    def records(self, *arguments, **options):
        """The records of a run, without the summary lines."""
        return records_of(self.operators("--jsonl", "-", *arguments, **options).stdout)


def records_of(text):
    lines = [json.loads(line, parse_constant=refuse_constant) for line in text.splitlines()]
    return [line for line in lines if not line["kind"].endswith("_summary")]


def refuse_constant(name):
    raise AssertionError(f"{name} is no JSON")


def plugin(name):
    return os.path.join(PLUGINS, name + ".so")


EXAMPLE = os.path.join(PLUGINS, "example", "libexample.so")

# --- JSON Schema ------------------------------------------------------------------------------------------------------
# The keywords that docs/record.schema.json uses; another one is an error here, so that none is passed over in silence.

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
ANNOTATIONS = {"$schema", "$defs", "title", "description", "then", "else"}


def has_type(value, name):
    if name in ("integer", "number"):
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return not isinstance(value, bool) and isinstance(value, (int, float)) and (name == "number" or whole)
    return isinstance(value, TYPES[name])


def schema_errors(value, schema, root, at="record"):
    """A list of what is wrong with value."""
    if "$ref" in schema:
        target = root
        for key in schema["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        schema = {**target, **{k: v for k, v in schema.items() if k != "$ref"}}
    errors = []
    for keyword, rule in schema.items():
        if keyword in ANNOTATIONS:
            continue
        errors += KEYWORDS[keyword](value, rule, schema, root, at)
    return errors


def check_type(value, rule, schema, root, at):
    names = [rule] if isinstance(rule, str) else rule
    return [] if any(has_type(value, n) for n in names) else [f"{at}: expected {names}, got {value!r:.80}"]


def check_properties(value, rule, schema, root, at):
    errors = []
    for key in rule.keys() & value.keys() if isinstance(value, dict) else ():
        errors += schema_errors(value[key], rule[key], root, f"{at}.{key}")
    return errors


def check_additional(value, rule, schema, root, at):
    extra = value.keys() - schema.get("properties", {}).keys() if isinstance(value, dict) else set()
    if isinstance(rule, dict):
        return [e for key in extra for e in schema_errors(value[key], rule, root, f"{at}.{key}")]
    return [f"{at}: unknown {sorted(extra)}"] if extra and not rule else []


def check_items(value, rule, schema, root, at):
    items = enumerate(value) if isinstance(value, list) else ()
    return [e for i, item in items for e in schema_errors(item, rule, root, f"{at}[{i}]")]


def check_one_of(value, rule, schema, root, at):
    """Of several that do not fit, the one that comes nearest says why."""
    found = [schema_errors(value, one, root, at) for one in rule]
    fitting = sum(not errors for errors in found)
    return [] if fitting == 1 else [f"{at}: fits {fitting} of {len(rule)}"] if fitting else min(found, key=len)


def check_if(value, rule, schema, root, at):
    holds = not schema_errors(value, rule, root, at)
    return schema_errors(value, schema.get("then" if holds else "else", {}), root, at)


def said(ok, at, what):
    return [] if ok else [f"{at}: {what}"]


KEYWORDS = {
    "type": check_type,
    "properties": check_properties,
    "additionalProperties": check_additional,
    "items": check_items,
    "if": check_if,
    "oneOf": check_one_of,
    "const": lambda v, r, s, root, at: said(v == r, at, f"expected {r!r}, got {v!r}"),
    "enum": lambda v, r, s, root, at: said(v in r, at, f"expected one of {r}, got {v!r}"),
    "minimum": lambda v, r, s, root, at: said(not has_type(v, "number") or v >= r, at, f"expected at least {r}, got {v}"),
    "minItems": lambda v, r, s, root, at: said(not isinstance(v, list) or len(v) >= r, at, f"expected {r} items"),
    "pattern": lambda v, r, s, root, at: said(not isinstance(v, str) or re.search(r, v), at, f"{v!r} is not {r}"),
    "required": lambda v, r, s, root, at: said(not isinstance(v, dict) or not set(r) - v.keys(), at,
                                                f"lacks {sorted(set(r) - set(v))}"),
    "not": lambda v, r, s, root, at: said(schema_errors(v, r, root, at), at, f"{v!r} is what it must not be"),
}


def main():
    unittest.main(argv=[sys.argv[0]], verbosity=2)
