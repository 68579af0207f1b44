# SPDX-License-Identifier: Apache-2.0
"""Graphs as a user has them: measured like operators by file, folder and suite, repeated by their `repro`, profiled, run by
`assay utilization`, and refused with file, line and column."""
import gzip
import json
import os
import shlex

from cli_case import EXAMPLE, RELU, SOURCE, Case, main, records_of, schema_errors

GRAPH = """# what it is for
graph tiny: A sum and its softmax.
%x = input(T([4, 6], bf16))
%b = input(T([6], bf16))
%s = add.Tensor(%x, %b)
%y = _softmax(%s, 1, False)
return %y, %s
"""
IN_PLACE = """graph step
%p = input(T([64], f32))
%v = input(T([64], f32), low=0.0, high=1.0)
%w = mul_.Tensor(%v, 0.5)
%r = sqrt(%w)
%q = add_.Tensor(%p, %r, alpha=-0.1)
return %q, %w
"""
# Where rounding decides, in bf16 often: a mask, a whole number, which place is the largest's. And a choice among near ones.
DECISIONS = """graph decisions
%x = input(T([128, 500], bf16))
%w = input(T([500], bf16))
%y = mul.Tensor(%x, %w)
%m = gt.Scalar(%y, 0.5)
%i = _to_copy(%y, dtype=i32)
%p = _softmax(%y, -1, False)
%v, %j = max.dim(%p, 1)
%s = sigmoid(%y)
%t, %k = topk(%s, 8, -1)
%c = select.int(%k, 1, 0)
%e = gather(%w, 0, %c)
return %m, %i, %v, %j, %t, %k, %e
"""
BOTH = ["--backend", "eager", "--backend", "reference", "--baseline", "reference"]

# A line that replaces the sum, and where it is refused.
BAD = [
    ("%s = ad.Tensor(%x, %b)", "5:6: expected an operator or input, got 'ad.Tensor'; did you mean 'add.Tensor'?"),
    ("%s = add.Tensor(%x, %c)", "5:21: add.Tensor: argument 'other': expected a value from a line above, got %c"),
    ("%s = add.Tensor(%x, %b", "5:23: expected ','"),
    ("%s = add.Tensor(%x, %b, alhpa=2)", "5:31: add.Tensor has no argument 'alhpa' (did you mean 'alpha'?)"),
    ("%s = mm(%x, %b)", "5:6: "),
    ("%s = nonzero(%x)", "5:6: "),
    ("%s = add.Tensor(%x, %x)", "nothing uses %b"),
    ("\0", "NUL"),
]


class Graphs(Case):
    def test_a_file_is_measured_like_an_operator(self):
        path = self.write("tiny.graph", GRAPH)
        with open(os.path.join(SOURCE, "docs", "record.schema.json")) as f:
            schema = json.load(f)
        for dtype in ("f32", "bf16", "as-recorded"):
            with self.subTest(dtype=dtype):
                records = self.records("--inputs", path, *BOTH, "--dtype", dtype)
                self.assertEqual([(r["operator"], r["backend"], r["status"]) for r in records],
                                 [("tiny", "eager", "ok"), ("tiny", "reference", "ok")])
                for record in records:
                    self.assertEqual(schema_errors(record, schema, schema), [])
                    self.assertEqual(record["input"], GRAPH[GRAPH.index("graph"):])
                    self.assertEqual(record["models"], ["tiny"])
                    self.assertEqual(record["error"]["checked_elements"], 48)
        again = records_of(self.run_assay(*shlex.split(records[0]["repro"])[1:], "--jsonl", "-").stdout)
        self.assertEqual([r["input"] for r in again], [r["input"] for r in records])

    def test_types_are_those_of_the_text_unless_told(self):
        path, relu = self.write("tiny.graph", GRAPH), self.write("relu.txt", RELU.replace("f32", "f16"))
        for told, expected in (((), {"x": "bf16", "self": "f32"}), (("--dtype", "f32"), {"x": "f32", "self": "f32"}),
                               (("--dtype", "as-recorded"), {"x": "bf16", "self": "f16"})):
            with self.subTest(told=told):
                records = self.records("--inputs", path, "--inputs", relu, *BOTH[2:], *told, "--save", "saved" + "".join(told))
                self.assertEqual({r["status"] for r in records}, {"ok"})
                with open(self.path("saved" + "".join(told) + "/manifest.jsonl")) as f:
                    lines = [json.loads(line) for line in f]
                types = {line["argument"]: line["dtype"] for line in lines if line["record"] == "input"}
                self.assertEqual({name: types[name] for name in expected}, expected)
        repro = self.records("--inputs", path, *BOTH[2:])[0]["repro"]
        self.assertIn("--dtype as-recorded", repro)

    def test_graphs_without_types_of_16_bits_become_them(self):
        plain = "graph plain: f32 alone\n%x = input(T([6, 4], f32))\n%w = input(T([4], f64))\n%y = relu(%x)\n%z = add.Tensor(%w, 1)\nreturn %y, %z\n"
        mixed = plain.replace("plain: f32 alone", "mixed: two kinds").replace("f64", "f16")
        for text, expected in ((plain, {"%x": "bf16", "%w": "f64"}), (mixed, {"%x": "f32", "%w": "bf16"})):
            name = text.split()[1].rstrip(":")
            path = self.write(name + ".graph", text)
            records = self.records("--inputs", path, *BOTH, "--dtype", "bf16", "--save", "saved_" + name)
            self.assertEqual([r["status"] for r in records], ["ok", "ok"])
            with open(self.path("saved_" + name + "/manifest.jsonl")) as f:
                lines = [json.loads(line) for line in f]
            types = {"%" + line["argument"].lstrip("%"): line["dtype"] for line in lines if line["record"] == "input"}
            self.assertEqual(types, expected)

    def test_what_rounding_decides_is_no_mismatch(self):
        path = self.write("decisions.graph", DECISIONS)
        for seed in ("1", "2", "3"):
            records = self.records("--inputs", path, "--backend", "eager", "--backend", "compiled", "--baseline", "eager", "--seed", seed,
                                   "--dtype", "as-recorded", "--repeats", "0")
            self.assertEqual([(r["status"], r["reason"]) for r in records], [("ok", None)] * 2)

    def test_inputs_written_in_place_are_put_back(self):
        path = self.write("step.graph.gz", gzip.compress(IN_PLACE.encode()))
        records = self.records("--inputs", path, *BOTH, "--repeats", "3")
        self.assertEqual([r["status"] for r in records], ["ok", "ok"])

    def test_a_folder_holds_both(self):
        os.mkdir(self.path("both"))
        self.write("both/relu.txt", RELU)
        self.write("both/tiny.graph", GRAPH)
        self.write("both/other.graph", GRAPH.replace("[4, 6]", "[8, 6]"))
        records = self.records("--inputs", "both", *BOTH[2:])
        self.assertEqual([r["operator"] for r in records], ["tiny"] * 2 + ["aten.relu.default"] * 2)
        self.assertEqual([r["sample_index"] for r in records], [0, 1, 0, 1])
        done = self.operators("--inputs", "both", "--op", "tin*", "--dry-run")
        self.assertIn("tiny[0]  calls 1  both/other.graph", done.stdout)
        self.assertIn("2 inputs would be measured", done.stdout)
        self.write("both/bad.graph", "graph bad\n")
        done = self.operators("--inputs", "both", "--dry-run", code=2)
        self.assertIn("bad.graph", done.stderr)
        self.assertIn("4 inputs would be measured", done.stdout)

    def test_the_suite(self):
        env = {"ASSAY_SUITES": os.path.join(SOURCE, "suites")}
        done = self.operators("--suite", "graphs", "--dry-run", env=env)
        self.assertIn("bias_gelu[0]", done.stdout)
        listed = json.loads(self.run_assay("list", "suites", "--json", env=env).stdout)
        found = next(row for row in listed if row["name"] == "graphs")
        self.assertTrue(found["found"] and found["inputs"] >= 14, found)
        records = records_of(self.operators("--suite", "graphs", "--op", "adam_step", "--op", "*dropout*norm", "--jsonl", "-",
                                            env=env).stdout)
        self.assertEqual([r["status"] for r in records], ["ok"] * 2)

    def test_what_is_wrong_has_a_place(self):
        for line, expected in BAD:
            with self.subTest(line=line):
                path = self.write("bad.graph", GRAPH.replace("%s = add.Tensor(%x, %b)", line))
                done = self.operators("--inputs", path, code=2)
                self.assertEqual(done.stdout, "")
                self.assertIn("bad.graph:", done.stderr)
                self.assertIn(expected, done.stderr)
        done = self.operators("--inputs", "missing.graph", code=2)
        self.assertIn("missing.graph", done.stderr)

    def test_what_does_not_fit_is_skipped(self):
        path = self.write("large.graph", GRAPH.replace("[4, 6]", "[1000000, 6]"))
        records = self.records("--inputs", path, "--max-memory", "1MiB")
        self.assertEqual(records[0]["status"], "skipped")

    def test_a_plug_in_that_runs_single_operators_says_so(self):
        path = self.write("tiny.graph", GRAPH)
        records = self.records("--inputs", path, "--backend", EXAMPLE, "--backend", "reference", "--baseline", "reference")
        self.assertEqual(records[0]["status"], "unsupported")
        self.assertTrue(records[0]["reason"])

    def test_profile_and_save(self):
        path = self.write("tiny.graph", GRAPH)
        self.operators("--inputs", path, "--profile", "traces", "--save", "saved")
        with gzip.open(self.path("traces/operator_tiny.json.gz")) as f:
            events = json.load(f)
        events = events["traceEvents"] if isinstance(events, dict) else events
        calls = [e for e in events if e.get("cat") == "cpu_op"]
        self.assertTrue(calls and {e["name"] for e in calls} == {"graph::tiny"})
        kernels = {e["name"] for e in events if e.get("cat") == "kernel"}
        self.assertIn("cpu::add.Tensor", kernels)
        with open(self.path("saved/manifest.jsonl")) as f:
            lines = [json.loads(line) for line in f]
        self.assertEqual([line["argument"] for line in lines if line["record"] == "input"], ["x", "b"])
        self.assertEqual(len([line for line in lines if line["record"] == "output"]), 2)

    def test_utilization(self):
        path = self.write("tiny.graph", GRAPH)
        done = self.run_assay("utilization", "--run", path, "--n", "3", "--json")
        self.assertGreater(json.loads(done.stdout)["strict"]["utilization"], 0)
        self.assertTrue(os.path.exists(self.path("log/operator_tiny.json.gz")))
        done = self.run_assay("utilization", "--run", self.write("bad.graph", "graph g\n%x = inpt(T([2], f32))\n"), code=2)
        self.assertIn("bad.graph:2:6: expected an operator or input, got 'inpt'", done.stderr)
        self.run_assay("utilization", "--run", path, "x", code=2)


if __name__ == "__main__":
    main()
