# SPDX-License-Identifier: Apache-2.0
"""What goes wrong costs its own row: plug-ins that crash, hang, exit, eat memory or are wrong, inputs that do not fit, an
interrupt in the middle."""
import csv
import json
import os
import resource
import signal
import subprocess
import time

from cli_case import ASSAY, EXAMPLE, QUICK, RELU, SANITIZER, Case, main, plugin, records_of

REFERENCE = ["--backend", "reference", "--baseline", "reference"]

# plug-in: status of its rows, a word of their reason, the run's exit code
ROWS = {
    "prepare_crashes": ("failed", "SIGSEGV", 1),
    "run_crashes": ("failed", "SIGSEGV", 1),
    "release_crashes": ("failed", "in use while releasing on release_crashes", 1),
    "exits": ("failed", "exit", 1),
    "wrong_result": ("mismatch", " checked elements is off", 4),
    "unwritten": ("mismatch", "is nan, expected ", 4),
    "unsupported": ("unsupported", "not today", 0),
    "prints": ("ok", "", 0),
    "no_status": ("failed", "the plug-in answered 77, which is no status", 1),
    "no_message": ("unsupported", "unsupported", 0),
    "bad_message": ("unsupported", "two lines  [31mxxx", 0),
    "output_breaks": ("failed", "device lost", 1),
    "output_of_nothing": ("failed", "elements without memory", 1),
    "output_without_sizes": ("failed", "without their sizes", 1),
    "odd_precision": ("failed", "in precision 200", 1),
    "writes_behind": ("failed", "wrote outside output 0: 0 bytes before it and 2400 behind it while checking on writes_behind", 1),
    "writes_before": ("failed", "wrote outside output 0: 4 bytes before it and 0 behind it while checking on writes_before", 1),
    "writes_input": ("failed", "wrote to input 'self'", 1),
    "wrong_later": ("mismatch", "after the timed runs: output 0[", 4),
    "skips_later": ("mismatch", "after the timed runs: output 0[", 4),
    "keeps_result": ("mismatch", "output 0[", 4),
    "output_fails": ("unsupported", "its results cannot be shown", 0),
    "keeps_program": ("ok", "", 0),
    "no_room": ("skipped", "123 bytes of work space beside the tensors, the limit is", 0),
}

# plug-in: words of the message that refuses it before anything is measured
REFUSALS = {
    "wrong_abi": ["wrong_abi.so", "version 2", "1"],
    "no_entry": ["no_entry.so", "assay_backend_entry"],
    "refuses": ["refuses.so", "no such device in this machine"],
    "short_table": ["short_table.so"],
    "bad_name": ["bad_name.so", "two words"],
    "crashes_loading": ["crashes_loading.so", "SIGSEGV"],
}


def read(path):
    with open(path) as f:
        return f.read()


class Faults(Case):
    def setUp(self):
        super().setUp()
        self.inputs = self.write("model.txt", RELU)

    def run_with(self, library, *arguments, **options):
        return self.records("--inputs", self.inputs, "--backend", library, *REFERENCE, *arguments, **options)

    def check_others(self, records):
        """Both inputs on the reference are there, once, and well."""
        others = [r for r in records if r["backend"] == "reference"]
        self.assertEqual([(r["sample_index"], r["status"]) for r in others], [(0, "ok"), (1, "ok")])

    def test_example(self):
        records = self.run_with(EXAMPLE)
        self.assertEqual([r["status"] for r in records], ["ok"] * 4)
        self.check_others(records)
        for dtype in ("f16", "bf16", "f64"):
            f16 = self.write("f16.txt", RELU.replace("f32", "f16"))
            records = self.records("--inputs", f16, "--backend", EXAMPLE, *REFERENCE, "--dtype", dtype)
            self.check_others(records)
            for r in records:
                if r["backend"] == "example":
                    self.assertEqual(r["status"], "unsupported")
                    self.assertIn(f"got {dtype}", r["reason"])
                    self.assertIsNone(r["median_ns"])

    def test_example_serves_three_operators(self):
        inputs = self.write("three.txt", "Operator: aten.mul.Tensor\ncnt: 1, ((T([3, 4], f32), T([3, 4], f32)), {})\n"
                            "cnt: 1, ((T([3, 4], f32), T([4], f32)), {})\n"
                            "cnt: 1, ((T([3, 4], f32, stride=(1, 3)), T([3, 4], f32)), {})\n"
                            "cnt: 1, ((T([0, 4], f32), T([0, 4], f32)), {})\n"
                            "Operator: aten.mm.default\ncnt: 1, ((T([17, 33], f32), T([33, 9], f32)), {})\n"
                            "Operator: aten.neg.default\ncnt: 1, ((T([3], f32),), {})\n")
        records = self.records("--inputs", inputs, "--backend", EXAMPLE, *REFERENCE)
        mine = [(r["status"], r["reason"] or "") for r in records if r["backend"] == "example"]
        self.assertEqual([s for s, _ in mine], ["ok", "unsupported", "unsupported", "ok", "ok", "unsupported"])
        for (_, reason), word in zip([mine[1], mine[2], mine[5]], ["broadcast", "contiguous", "no code"]):
            self.assertIn(word, reason)
        listed = json.loads(self.run_assay("list", "operators", "--json", "--backend", EXAMPLE).stdout)
        self.assertEqual({r["name"].removeprefix("aten.") for r in listed if r.get("example") is True},
                         {"mul.Tensor", "mm.default", "relu.default"})

    def test_rows(self):
        for name, (status, word, code) in ROWS.items():
            with self.subTest(plugin=name):
                records = self.run_with(plugin(name), code=code)
                self.check_others(records)
                mine = [r for r in records if r["backend"] == name]
                self.assertEqual([(r["sample_index"], r["status"]) for r in mine], [(0, status), (1, status)])
                for r in mine:
                    if status != "ok":
                        self.assertIn(word, r["reason"])
                        self.assertNotRegex(r["reason"], r"is nan.*tolerance")  # which has no part in it
                        self.assertIsNone(r["median_ns"])

    def test_the_innocent_are_not_blamed(self):
        """A worker that dies while one backend is at work may have been damaged by another: each is tried alone."""
        environment = {"XDG_CACHE_HOME": self.path("cache")}
        compiled = ["--backend", "compiled", *REFERENCE, "--max-samples", "1"]
        done = self.operators("--jsonl", "-", "--inputs", self.inputs, "--backend", plugin("harms_others"), *compiled, env=environment)
        records = records_of(done.stdout)
        self.assertEqual(sorted((r["backend"], r["status"]) for r in records),
                         [("compiled", "ok"), ("harms_others", "ok"), ("reference", "ok")])
        self.assertTrue(all(r["median_ns"] > 0 for r in records))
        self.assertEqual(len({r["worker"] for r in records}), 3)  # and nothing is compared that was measured apart
        self.assertEqual({r["speedup"]["ratio"] for r in records}, {None})
        figures = [json.loads(line) for line in done.stdout.splitlines() if '"operator_summary"' in line]
        self.assertEqual([(f["samples_ok"], f["samples_compared"], f["speedup"]["q50"]) for f in figures if not f["baseline"]],
                         [(1, 0, None)] * 2)

    def test_the_guilty_among_several_plugins(self):
        for guilty in ("run_crashes", "release_crashes", "writes_behind"):
            with self.subTest(plugin=guilty):
                records = self.run_with(plugin(guilty), "--backend", EXAMPLE, "--backend", plugin("prints"), code=1)
                self.check_others(records)
                self.assertEqual(sorted((r["sample_index"], r["backend"]) for r in records if r["status"] != "ok"), [(0, guilty), (1, guilty)])
                self.assertEqual(len(records), 8)

    def test_inputs_come_back_as_they_were(self):
        """Of every operator, after a run on other values: what writes to no input is never said to."""
        records = self.records("--suite", "embedded", "--repeats", "0", "--backend", plugin("does_nothing"), *REFERENCE, code=4)
        mine = [r for r in records if r["backend"] == "does_nothing"]
        self.assertGreater(len(mine), 100)
        self.assertEqual([(r["operator"], r["reason"]) for r in mine if r["status"] not in ("ok", "mismatch")], [])

    def test_refusals(self):
        for name, words in REFUSALS.items():
            with self.subTest(plugin=name):
                done = self.operators("--inputs", self.inputs, "--backend", plugin(name), *REFERENCE,
                                      code=1 if name == "crashes_loading" else 2)
                self.assertEqual(done.stdout, "")
                for word in words:
                    self.assertIn(word, done.stderr)

    def test_lists_of_backends_that_go_wrong(self):
        for what in ("operators", "backends"):
            for name, code, word in (("crashes_loading", 1, "SIGSEGV"), ("no_entry", 2, "assay_backend_entry"), ("refuses", 2, "no such device")):
                with self.subTest(what=what, plugin=name):
                    done = self.run_assay("list", what, "--backend", plugin(name), code=code)
                    self.assertEqual(done.stdout, "")
                    self.assertIn(word, done.stderr)

    def test_crash_after_the_last_result(self):
        done = self.operators("--inputs", self.inputs, "--backend", plugin("close_crashes"), *REFERENCE, "--jsonl", "r.jsonl", code=1)
        self.assertRegex(done.stderr, "SIGSEGV .* while closing, after the last result")
        with open(self.path("r.jsonl")) as f:
            records = records_of(f.read())
        self.assertEqual(sorted((r["backend"], r["sample_index"], r["status"]) for r in records),
                         [("close_crashes", 0, "ok"), ("close_crashes", 1, "ok"), ("reference", 0, "ok"), ("reference", 1, "ok")])

    def test_two_of_one_name(self):
        done = self.operators("--inputs", self.inputs, "--backend", EXAMPLE, "--backend", EXAMPLE, *REFERENCE, code=2)
        self.assertIn("example", done.stderr)

    def test_hang(self):
        records = self.run_with(plugin("hangs"), "--sample-timeout", "4", "--csv", "h.csv", code=1)
        self.check_others(records)
        mine = [r for r in records if r["backend"] == "hangs"]
        self.assertTrue(all(r["elapsed_s"] >= 4 for r in mine))
        self.assertTrue(all(r["elapsed_s"] < 4 for r in records if r["backend"] != "hangs"))
        with open(self.path("h.csv")) as f:
            self.assertGreaterEqual(float(next(csv.DictReader(f))["elapsed"]), sum(r["elapsed_s"] for r in records) - 0.001)
        self.assertEqual([r["status"] for r in mine], ["timeout"] * 2)

    def gone(self, pid_file):
        """Whether the process that wrote its number there is no more."""
        with open(pid_file) as f:
            pid = int(f.read())
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    def test_compiler_that_hangs(self):
        compiler = self.write("cc.sh", "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\nsleep 300 &\necho $! > pid.tmp\nmv pid.tmp pid\nwait\n")
        os.chmod(compiler, 0o700)
        environment = {"ASSAY_CC": compiler, "XDG_CACHE_HOME": self.path("cache")}
        arguments = ["--inputs", self.inputs, "--backend", "compiled", *REFERENCE, "--max-samples", "1"]
        records = self.records(*arguments, "--sample-timeout", "4", env=environment, code=1)
        self.assertEqual({r["backend"]: r["status"] for r in records}, {"compiled": "timeout", "reference": "ok"})
        self.assertTrue(self.gone(self.path("pid")))
        os.remove(self.path("pid"))
        run = self.start(*arguments, "--sample-timeout", "100", env=environment)
        deadline = time.monotonic() + 60
        while not os.path.exists(self.path("pid")) and time.monotonic() < deadline:
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
        self.assertTrue(self.gone(self.path("pid")))

    def test_children_of_a_shell_that_became_assay(self):
        """They are not this program's to end."""
        script = f"sleep 300 >/dev/null 2>&1 & echo $! > pid; exec {ASSAY} operators --repeats 1 --inputs {self.inputs} --backend {plugin('hangs')} " \
                 "--backend reference --baseline reference --sample-timeout 2 --max-samples 1"
        subprocess.run(["sh", "-c", script], cwd=self.folder, capture_output=True, timeout=100)
        self.assertFalse(self.gone(self.path("pid")))
        with open(self.path("pid")) as f:
            os.kill(int(f.read()), signal.SIGKILL)

    def test_started_with_ended_children_ignored(self):
        run = self.start("--inputs", self.inputs, "--backend", plugin("run_crashes"), *REFERENCE,
                         preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        out, _ = run.communicate(timeout=100)
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"SIGSEGV", out)

    def test_started_without_streams(self):
        for closed in ((2,), (0, 2), (1,)):
            with self.subTest(closed=closed):
                def close():
                    for fd in closed:
                        os.close(fd)
                run = self.start("--inputs", self.inputs, "--backend", plugin("prints"), *REFERENCE, "--jsonl", "r.jsonl", preexec_fn=close)
                run.communicate(timeout=100)
                with open(self.path("r.jsonl")) as f:
                    self.assertEqual([r["status"] for r in records_of(f.read())], ["ok"] * 4)

    def test_memory_eaten(self):
        if SANITIZER:
            self.skipTest("no limit of memory holds under a sanitizer")
        records = self.run_with(plugin("eats_memory"), "--max-memory", "64MiB", code=1)
        self.check_others(records)
        mine = [r for r in records if r["backend"] == "eats_memory"]
        self.assertEqual([r["status"] for r in mine], ["failed"] * 2)
        self.assertIn("ate all there was", mine[0]["reason"])

    def test_input_that_does_not_fit(self):
        inputs = self.write("large.txt", RELU + "cnt: 1, ((T([64, 1024, 1024], f32),), {})\n")
        records = self.records("--inputs", inputs, *REFERENCE, "--max-memory", "100MB")
        self.assertEqual([r["status"] for r in records], ["ok", "ok", "skipped"])
        self.assertRegex(records[2]["reason"], r"needs about \d+ bytes")
        self.assertGreater(int(records[2]["reason"].split("about ")[1].split()[0]), 2 * 64 << 20)

    def test_limits_of_the_process(self):
        """--max-memory is what a limit of the process leaves, and what the system does not give although it may be asked for is skipped."""
        if SANITIZER:
            self.skipTest("no limit of memory holds under a sanitizer")
        inputs = self.write("large.txt", RELU + "cnt: 1, ((T([256, 1024, 1024], f32),), {})\n")
        for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            for arguments, reason in (([], r"needs about \d+ bytes .* the limit is [1-9][0-9.]* [MG]i?B \(what this process's limits leave\)"),
                                      (["--max-memory", "1TB"], "no memory for a tensor of 1073741824 bytes")):
                if limit == resource.RLIMIT_DATA and arguments:
                    continue # a worker has one of its own
                with self.subTest(limit=limit, arguments=arguments):
                    run = self.start("--inputs", inputs, *REFERENCE, "--threads", "2", "--jsonl", "-", *arguments,
                                     preexec_fn=lambda: resource.setrlimit(limit, (800 << 20, resource.RLIM_INFINITY)))
                    out, said = run.communicate(timeout=100)
                    records = records_of(out.decode())
                    self.assertEqual([r["status"] for r in records], ["ok", "ok", "skipped"], said)
                    self.assertRegex(records[2]["reason"], reason)
                    self.assertEqual(run.returncode, 0)

    def test_need_of_small_inputs(self):
        """What checking takes goes with their size."""
        inputs = self.write("small.txt", "Operator: aten.relu.default\ncnt: 1, ((T([2048], f32),), {})\n")
        record, = self.records("--inputs", inputs, *REFERENCE, "--max-memory", "20KB")
        self.assertEqual(record["status"], "skipped")
        self.assertLess(int(record["reason"].split("about ")[1].split()[0]), 128 << 10)

    def start(self, *arguments, env=None, preexec_fn=None):
        """A run under way, its output going to pipes, in a group of its own as a shell would have it."""
        run = subprocess.Popen([ASSAY, "operators", *QUICK, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               cwd=self.folder, start_new_session=True, env={**os.environ, **(env or {})}, preexec_fn=preexec_fn)
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.stderr.close)
        return run

    @staticmethod
    def lines_of(path):
        if not os.path.exists(path):
            return 0
        with open(path, "rb") as f:
            return f.read().count(b"\n")

    def test_interrupt(self):
        # The plug-in answers "unsupported" to sigmoid and hangs in relu.
        order = self.write("order.txt", "Operator: aten.sigmoid.default\ncnt: 1, ((T([3], f32),), {})\n" + RELU)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                run = self.start("--inputs", order, "--backend", plugin("hangs"), *REFERENCE, "--jsonl", "r.jsonl", "--csv",
                                 "c.csv", "--sample-timeout", "100", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
                partial = self.path("r.jsonl.partial")
                deadline = time.monotonic() + 60
                while self.lines_of(partial) < 2:
                    self.assertLess(time.monotonic(), deadline, "the first input's two records did not come")
                    time.sleep(0.02)
                os.kill(run.pid, number)
                output, errors = run.communicate(timeout=60)
                self.assertEqual(run.returncode, 130, errors)
                with open(self.path("r.jsonl")) as f:
                    records = records_of(f.read())
                self.assertEqual([(r["operator"], r["backend"]) for r in records],
                                 [("aten.sigmoid.default", "hangs"), ("aten.sigmoid.default", "reference")])
                self.assertIn(b"interrupted; 1 of 3", errors)
                self.assertIn(b"aten.sigmoid.default", output)
                self.assertFalse(os.path.exists(partial))
                with open(self.path("c.csv")) as f:
                    self.assertIn("aten.sigmoid.default", f.read())
                os.remove(self.path("r.jsonl"))


    def test_interrupt_while_backends_are_opened(self):
        for words in (["operators", "--inputs", self.inputs], ["list", "backends"]):
            with self.subTest(words=words):
                run = subprocess.Popen([ASSAY, *words, "--backend", plugin("hangs_loading")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       start_new_session=True)
                children = f"/proc/{run.pid}/task/{run.pid}/children"
                deadline = time.monotonic() + 60
                while not read(children) and time.monotonic() < deadline:
                    time.sleep(0.02)
                run.send_signal(signal.SIGINT)
                _, errors = run.communicate(timeout=60)
                self.assertEqual(run.returncode, 130, errors)
                self.assertIn(b"interrupted", errors)


if __name__ == "__main__":
    main()
