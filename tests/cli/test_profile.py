# SPDX-License-Identifier: Apache-2.0
"""The traces that `operators --profile` and `utilization --run` write: whole, one for each operator, with ranges that
contain what they say, and figures that add up; a crash costs no other operator's trace."""
import gzip
import json
import os

from cli_case import Case, main, plugin

INPUTS = """Operator: aten.mm.default
cnt: 1, ((T([8, 4], f32), T([4, 16], f32)), {})
cnt: 1, ((T([64, 32], f32), T([32, 64], f32)), {})
Operator: aten.relu.default
cnt: 3, ((T([4, 5], f32),), {})
Operator: aten.relu_.default
cnt: 1, ((T([100], f32),), {})
"""
MM = "((T([8, 4], f32), T([4, 16], f32)), {})"


class Profile(Case):
    def setUp(self):
        super().setUp()
        self.inputs = self.write("model.txt", INPUTS)

    def events(self, name):
        with gzip.open(self.path(name)) as f:
            return json.load(f)["traceEvents"]

    def profiled(self, *arguments, **options):
        self.operators("--inputs", self.inputs, "--profile", "traces", "--quiet", *arguments, **options)

    def test_one_file_for_each_operator(self):
        self.profiled()
        self.assertEqual(sorted(os.listdir(self.path("traces"))),
                         [f"operator_aten.{name}.default.json.gz" for name in ("mm", "relu", "relu_")])

    def test_ranges_hold_what_they_say(self):
        self.profiled("--repeats", "3", "--backend", "eager", "--backend", "reference")
        events = self.events("traces/operator_aten.mm.default.json.gz")
        complete = [e for e in events if e["ph"] == "X"]

        def named(start):
            return [e for e in complete if e["name"].startswith(start)]

        def within(inner, outer):
            return outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 1e-3

        self.assertEqual([e["name"] for e in named("iter_")], ["iter_0", "iter_1"])
        self.assertEqual([e["name"] for e in named("rep_")], ["rep_0", "rep_1", "rep_2"] * 2)
        self.assertEqual({(e["name"], e["args"]["backend"]) for e in named("model_")},
                         {("model_0", "eager"), ("model_1", "reference")})
        for rep in named("rep_"):
            self.assertEqual(sum(within(rep, i) for i in named("iter_")), 1)
        for model in named("model_"):
            self.assertEqual(sum(within(model, r) for r in named("rep_")), 1)
            calls = [e for e in complete if e["cat"] == "cpu_op" and within(e, model)]
            self.assertTrue(calls)
            self.assertEqual({e["args"]["backend"] for e in calls}, {model["args"]["backend"]})
        self.assertEqual(len([e for e in complete if e["cat"] == "compile"]), 4)
        calls = {e["args"]["External id"]: e for e in complete if e["cat"] == "cpu_op"}
        kernels = [e for e in complete if e["cat"] == "kernel" and e["tid"] == 0]
        self.assertEqual(len(calls), len(kernels))
        for kernel in kernels:
            call = calls[kernel["args"]["External id"]]
            self.assertTrue(within(kernel, call))
            for key in ("Input Dims", "Input type", "flops", "bytes"):
                self.assertEqual(kernel["args"][key], call["args"][key])
        starts = {e["id"]: e for e in events if e["ph"] == "s"}
        ends = {e["id"]: e for e in events if e["ph"] == "f"}
        self.assertEqual(set(starts), {k["args"]["correlation"] for k in kernels})
        self.assertEqual(set(starts), set(ends))
        self.assertTrue([e for e in events if e["ph"] == "C" and e["args"]["resident_bytes"] > 0])

    def test_what_is_written_in_place_is_put_back(self):
        self.profiled()
        copies = [e for e in self.events("traces/operator_aten.relu_.default.json.gz") if e.get("cat") == "gpu_memcpy"]
        self.assertTrue(copies)
        self.assertEqual({e["args"]["bytes"] for e in copies}, {400})

    def test_figures_add_up(self):
        self.profiled()
        path = self.path("traces/operator_aten.mm.default.json.gz")
        figures = json.loads(self.run_assay("utilization", path, "--by-operator", "--label", "CPU", "--json").stdout)
        kernels = [e for e in self.events(path) if e.get("cat") == "kernel"]
        self.assertAlmostEqual(sum(k["dur"] for k in kernels) / 1e6, sum(k["total_s"] for k in figures["kernels"]), 9)
        self.assertEqual([o["name"] for o in figures["operators"]], ["aten::mm"])
        self.assertAlmostEqual(figures["operators"][0]["kernel_s"], sum(k["total_s"] for k in figures["kernels"]), 9)
        self.assertGreater(figures["strict"]["utilization"], 0)
        self.assertGreater(figures["compat"]["mm_conv"], 0)

    def test_a_crash_costs_no_other_trace(self):
        self.profiled("--backend", plugin("run_crashes"), code=1)
        self.assertEqual(len(os.listdir(self.path("traces"))), 3, os.listdir(self.path("traces")))
        for name in ("mm", "relu", "relu_"):
            events = self.events(f"traces/operator_aten.{name}.default.json.gz")
            self.assertTrue([e for e in events if e.get("cat") == "cpu_op"])

    def test_a_folder_that_cannot_be(self):
        self.write("file", "")
        done = self.operators("--inputs", self.inputs, "--profile", "file/below", code=1)
        self.assertIn("file/below", done.stderr)

    def test_run(self):
        done = self.run_assay("utilization", "--run", "aten.mm.default", MM, "--n", "5", "--json", "--by-operator")
        figures = json.loads(done.stdout)
        self.assertEqual(os.listdir(self.path("log")), ["operator_aten.mm.default.json.gz"])
        self.assertEqual([o["name"] for o in figures["operators"]], ["aten::mm"])
        self.assertIn("aten.mm.default on eager",
                      self.run_assay("utilization", "--run", "aten.mm.default", MM, "--n", "5").stdout)

    def test_runs_that_cannot_be(self):
        for arguments, word in (
                (["--run", "x.graph"], "x.graph"),
                (["--run", "mm"], "an operator and its input"),
                (["--run", "aten.nm.default", MM], "mm"),
                (["--run", "mm", MM[:-1]], "column"),
                (["--run", "mm", MM, "--window", "auto"], "--window"),
                (["--run", "mm", MM, "--n", "0"], "--n"),
                (["--run", "--diff", "mm", MM], "exclude"),
                (["--n", "3", "trace.json"], "--run"),
                (["--run", "mm", MM, "--backend", "eagr"], "eager")):
            with self.subTest(arguments=arguments):
                self.assertIn(word, self.run_assay("utilization", *arguments, code=2).stderr)

    def test_warnings_of_a_trace(self):
        """A trace of the CPU has no GPU: the warning names the label that would do. What --diff does not show it does not warn of."""
        trace = "[" + ",".join(json.dumps(e) for e in (
            {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "CPU 0"}},
            {"ph": "X", "cat": "kernel", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 9})) + "]"
        path, other = self.write("t.json", trace), self.write("u.json", trace)
        self.assertIn("no process is labelled as a device, so that compat is 0; kernels ran in what is labelled 'CPU 0': --label CPU has it counted\n",
                      self.run_assay("utilization", path).stderr)
        self.assertEqual(self.run_assay("utilization", path, "--label", "CPU").stderr, "")
        self.assertEqual(self.run_assay("utilization", "--diff", path, other).stderr, "")
        given = self.run_assay("utilization", path, "--label", "CPU", "--wall-time", "1e-6").stderr
        self.assertIn("kernels were busy for longer than the wall time given", given)
        cut = self.write("cut.json", trace[:-1])
        twice = self.run_assay("utilization", "--diff", cut, cut).stderr
        self.assertEqual(twice.count("the trace ends early"), 1)


if __name__ == "__main__":
    main()
