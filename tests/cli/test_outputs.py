# SPDX-License-Identifier: Apache-2.0
"""What a run writes: CSV and JSON lines alone on standard output, records that fit their schema and repeat themselves by
their `repro`, saved arrays that others can read, no escape codes where no terminal is."""
import csv
import io
import json
import os
import resource
import shlex
import signal
import stat
import struct
import subprocess

from cli_case import ASSAY, EXAMPLE, QUICK, RELU, SOURCE, Case, main, plugin, records_of, schema_errors

# Several families, several outputs, a view, an in-place operator, a random one, integers.
MIXED = RELU + """Operator: aten.add_.Tensor
cnt: 2, ((T([3, 4], f16), T([4], f16)), {})
Operator: aten.sum.dim_IntList
cnt: 2, ((T([3, 4], f16, stride=(1, 3)), [1]), {})
Operator: aten.var_mean.correction
cnt: 1, ((T([2, 8, 5, 5], f32), [0, 2, 3]), {'correction': 0, 'keepdim': True})
Operator: aten.eq.Tensor
cnt: 1, ((T([5], i64), T([5], i64)), {})
Operator: aten.mm.default
cnt: 1, ((T([3, 4], f32), T([4, 2], f32)), {})
"""
REFERENCE = ["--backend", "reference", "--baseline", "reference"]


def read_npy(path):
    """dtype text, Fortran order, shape, bytes of data of a .npy file of version 1 or 2."""
    with open(path, "rb") as f:
        magic = f.read(8)
        assert magic[:6] == b"\x93NUMPY", magic
        length, = struct.unpack("<H", f.read(2)) if magic[6] == 1 else struct.unpack("<I", f.read(4))
        header = f.read(length).decode("latin-1")
        data = f.read()
    assert (10 + length) % 64 == 0 or magic[6] != 1, "the data should begin at a multiple of 64"
    facts = {}
    for part in ("descr", "fortran_order", "shape"):
        facts[part] = header.split(f"'{part}':")[1]
    descr = facts["descr"].split("'")[1]
    shape = facts["shape"].split("(")[1].split(")")[0]
    return descr, "True" in facts["fortran_order"][:6], [int(n) for n in shape.split(",") if n.strip()], data


class Outputs(Case):
    def setUp(self):
        super().setUp()
        self.inputs = self.write("model.txt", MIXED)

    def run_it(self, *arguments, **options):
        return self.operators("--inputs", self.inputs, *REFERENCE, *arguments, **options)

    def test_threads_bound_to_places_are_as_many(self):
        """OpenMP's library binds the first thread to one CPU before main begins; the others count nevertheless."""
        threads = [records_of(self.run_it("--jsonl", "-", "--repeats", "3", env=env).stdout)[0]["threads"]
                   for env in ({"OMP_PROC_BIND": "false"}, {"OMP_PROC_BIND": "true"}, {"OMP_PLACES": "threads"})]
        self.assertEqual(threads, [threads[0]] * 3)

    def test_standard_output_holds_that_alone(self):
        rows = list(csv.reader(io.StringIO(self.run_it("--csv", "-").stdout)))
        self.assertEqual(rows[0][0], "operator")
        self.assertEqual({len(r) for r in rows}, {len(rows[0])})
        self.assertEqual([r[0] for r in rows[1:]][:2], ["aten.relu.default", "aten.add_.Tensor"])
        for line in self.run_it("--jsonl", "-").stdout.splitlines():
            json.loads(line)
        done = self.run_it("--quiet", "--csv", "c.csv", "--jsonl", "r.jsonl")
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        with open(self.path("c.csv")) as f:
            self.assertEqual([r[0] for r in csv.reader(f)], [r[0] for r in rows])
        self.assertEqual(sorted(os.listdir(self.folder)), ["c.csv", "model.txt", "r.jsonl"]) # no .partial is left

    def test_csv_of_two_backends(self):
        path = self.write("mm.txt", "Operator: aten.mm.default\ncnt: 1, ((T([3, 4], f32), T([4, 2], f32)), {})\n")
        done = self.operators("--inputs", path, "--backend", EXAMPLE, *REFERENCE, "--csv", "-")
        header, row = csv.reader(io.StringIO(done.stdout))
        self.assertEqual(len(header), len(row))
        self.assertIn("elapsed", header)
        self.assertTrue(any("reference" in h and "abs" in h for h in header), header)
        self.assertTrue(any("example" in h and "abs" in h for h in header), header)

    def test_records_fit_their_schema(self):
        with open(os.path.join(SOURCE, "docs", "record.schema.json")) as f:
            schema = json.load(f)
        bad = self.write("bad.txt", "Operator: aten.mm.default\ncnt: 1, ((T([3, 4], f32),), {})\n"
                         "Operator: aten.nobody.default\ncnt: 1, ((), {})\n")
        output = self.run_it("--inputs", bad, "--jsonl", "-", code=1).stdout
        records = records_of(output)
        self.assertEqual(len(records), 9)
        kinds = []
        for line in map(json.loads, output.splitlines()): # those of figures as well
            self.assertEqual(schema_errors(line, schema, schema), [])
            kinds.append(line["kind"])
        self.assertEqual([kinds.count(k) for k in ("operator", "operator_summary", "run_summary")], [9, 7, 1])
        self.assertEqual([r["status"] for r in records], ["ok"] * 5 + ["ok", "ok", "failed", "unsupported"])
        # and the check itself sees what is wrong
        for wrong in ({"status": "fine"}, {"calls": -1}, {"samples_ns": "none"}, {"no_such_field": 1}):
            self.assertTrue(schema_errors({**records[0], **wrong}, schema, schema), wrong)

    def test_checking_alone(self):
        with open(os.path.join(SOURCE, "docs", "record.schema.json")) as f:
            schema = json.load(f)
        records = records_of(self.run_it("--repeats", "0", "--jsonl", "-").stdout)
        self.assertEqual(len(records), 7)
        for record in records:
            self.assertEqual(schema_errors(record, schema, schema), [])
            self.assertEqual((record["status"], record["median_ns"], record["samples_ns"] or []), ("ok", None, []))
            self.assertGreater(record["error"]["checked_elements"], 0)
        self.assertIn("7 ok", self.run_it("--repeats", "0").stdout)
        refused = self.run_it("--repeats", "0", "--no-accuracy-checking", code=2)
        self.assertIn("nothing to do", refused.stderr)

    def test_what_a_record_says(self):
        relu = records_of(self.run_it("--jsonl", "-", "--repeats", "3", "--seed", "5", "--threads", "1").stdout)[0]
        self.assertEqual(relu["input"], "((T([4, 5], f32),), {})")
        self.assertEqual((relu["models"], relu["model_calls"], relu["calls"]), (["model"], [3], 3))
        self.assertEqual((relu["seed"], relu["threads"], relu["dtype"]), (5, 1, "f32"))
        self.assertEqual(len(relu["samples_ns"]), 3)
        self.assertEqual(sorted(relu["samples_ns"])[1], relu["median_ns"])
        self.assertEqual(relu["bytes"], 2 * 4 * 20)
        self.assertEqual(relu["error"]["max_abs"], 0)

    def test_a_backend_beside_itself(self):
        """Two columns of one code: each ratio has its interval, in records, summaries and words."""
        with open(os.path.join(SOURCE, "docs", "record.schema.json")) as f:
            schema = json.load(f)
        twice = ["--inputs", self.inputs, "--backend", "eager", "--backend", "eager:again", "--no-accuracy-checking"]
        lines = [json.loads(line) for line in self.operators(*twice, "--repeats", "9", "--jsonl", "-").stdout.splitlines()]
        ratios = 0
        for line in lines:
            if line["kind"] == "operator":
                self.assertEqual(schema_errors(line, schema, schema), [])
                speedup = line["speedup"]
                if line["baseline"]:
                    self.assertEqual(set(speedup.values()), {None})
                elif speedup["ratio"] is not None:  # a sample of 0 ns leaves nothing to divide by
                    self.assertTrue(0 < speedup["low"] <= speedup["ratio"] <= speedup["high"], speedup)
                    self.assertTrue(0.95 <= speedup["confidence"] < 1, speedup)
                    ratios += 1
                self.assertEqual(len(line["samples_ns"]), 9)
        self.assertGreater(ratios, 0)
        run = [line for line in lines if line["kind"] == "run_summary" and not line["baseline"]][0]
        self.assertEqual(run["backend"], "eager:again")
        self.assertLessEqual(run["operators_faster"] + run["operators_slower"], run["operators_compared"])
        self.assertLessEqual(run["operators_much_slower"], run["operators_slower"])
        # One sample proves nothing.
        shown = self.operators(*twice, "--color", "never").stdout
        self.assertIn("0 are beyond doubt faster than eager, 0 slower, 0 of these by more than 5%", shown)
        self.assertIn(" ~", shown)

    def test_samples_are_as_many_as_the_ratio_needs(self):
        """Without a word of repeats there are nine samples at least and a hundred at most; the repro asks for the same."""
        ratio = ["--inputs", self.inputs, "--op", "relu.default", "--backend", "eager", "--backend", "eager:again"]
        for precision, least, most in ((None, 9, 100), ("0", 9, 9), ("1", 9, 100)):
            chosen = ["--precision", precision] if precision else []
            for record in records_of(self.run_assay("operators", *ratio, *chosen, "--min-time", "0", "--jsonl", "-").stdout):
                self.assertTrue(least <= len(record["samples_ns"]) <= most, len(record["samples_ns"]))
                self.assertIn(f"--repeats 9 --precision {precision or '0.02'} ", record["repro"])

    def test_repro_repeats_the_point(self):
        """Run as a shell would, each repro gives one record per backend of the very same point."""
        for record in records_of(self.run_it("--jsonl", "-", "--dtype", "as-recorded", "--seed", "7").stdout):
            with self.subTest(repro=record["repro"]):
                words = shlex.split(record["repro"])
                self.assertEqual(words[:2], ["assay", "operators"])
                again = records_of(self.run_assay(*words[1:], "--jsonl", "-").stdout)
                self.assertEqual(len(again), 1)
                for key in ("operator", "input", "backend", "dtype", "seed", "sample_index", "status", "error", "repro"):
                    self.assertEqual(again[0][key], record[key], key)

    def test_repro_with_a_plugin_and_a_strange_path(self):
        strange = self.write("it's a model $HOME.txt", RELU)
        records = self.records("--inputs", strange, "--backend", EXAMPLE, *REFERENCE)
        example = [r for r in records if r["backend"] == "example"][1]
        again = records_of(self.run_assay(*shlex.split(example["repro"])[1:], "--jsonl", "-").stdout)
        self.assertEqual({r["backend"] for r in again}, {"example", "reference"})
        self.assertEqual({r["input"] for r in again}, {example["input"]})

    def test_repro_says_what_it_depends_on(self):
        os.makedirs(self.path("my suites/timm_train"))
        self.write("my suites/timm_train/model.txt", RELU)
        env = {"ASSAY_SUITES": "my suites", "ASSAY_CC": "gcc", "ASSAY_TORCH_PYTHON": "/nowhere/python"}
        limits = ["--max-memory", "1GB", "--sample-timeout", "42.5"]
        for arguments, begin, ends in (
                (["--suite", "timm", *REFERENCE, *limits], "ASSAY_SUITES='my suites' assay operators --suite timm ",
                 " --max-memory 1000000000 --sample-timeout 42.5"),
                (["--inputs", "model.txt", "--backend", "compiled", *REFERENCE], "ASSAY_CC=gcc assay operators --inputs model.txt ", ""),
                (["--suite", "embedded", "--op", "relu", "--max-samples", "1", *REFERENCE], "assay operators --suite embedded ", "reference")):
            with self.subTest(arguments=arguments):
                record = self.records(*arguments, env=env)[0]
                self.assertTrue(record["repro"].startswith(begin), record["repro"])
                self.assertTrue(record["repro"].endswith(ends), record["repro"])
                words = shlex.split(record["repro"])
                again = self.run_assay(*words[words.index("assay") + 1:], "--jsonl", "-", env=env)
                self.assertEqual(records_of(again.stdout)[0]["repro"], record["repro"])

    def test_repro_of_a_graph_and_of_standard_input(self):
        """A graph that is called as an operator is told from it; data that is gone is not promised."""
        graph = "graph relu\n%x = input(T([3], f32))\n%y = neg(%x)\nreturn %y\n"
        self.write("neg it.graph", graph)
        self.write("relu.graph", graph.replace("neg", "relu"))
        records = self.records("--inputs", ".", *REFERENCE, "--op", "relu")
        self.assertEqual([r["operator"] for r in records], ["aten.relu.default"] * 2 + ["relu"] * 2)
        for record in records:
            again = records_of(self.run_assay(*shlex.split(record["repro"])[1:], "--jsonl", "-").stdout)
            self.assertEqual([(r["operator"], r["input"]) for r in again], [(record["operator"], record["input"])])
        record = self.records("--inputs", "-", *REFERENCE, "--op", "relu", stdin=RELU.encode())[0]
        self.assertTrue(record["repro"].endswith(" # the recorded inputs come on standard input"), record["repro"])
        words = shlex.split(record["repro"], comments=True)
        self.assertEqual(records_of(self.run_assay(*words[1:], "--jsonl", "-", stdin=RELU.encode()).stdout)[0]["input"], record["input"])

    def test_baseline_is_run_as_well(self):
        """Whichever of the built-in ones it is."""
        for baseline in ("reference", "compiled", "compiled:nofuse", "eager:again"):
            with self.subTest(baseline=baseline):
                records = self.records("--inputs", self.inputs, "--op", "relu", "--max-samples", "1", "--baseline", baseline)
                self.assertEqual([(r["backend"], r["baseline"], r["status"]) for r in records],
                                 [("eager", False, "ok"), (baseline, True, "ok")])
        self.assertIn("compiled:nosuch", self.run_assay("operators", "--baseline", "compiled:nosuch", code=2).stderr)

    def test_numbers_are_plain(self):
        """No exponent where a reader would not write one: 12758970, not 1.275897e+07."""
        for line in self.run_it("--jsonl", "-").stdout.splitlines():
            self.assertNotRegex(line, r"[0-9]e\+(0[0-9]|1[0-6])\b")

    def test_dry_run_measures_nothing(self):
        done = self.run_it("--dry-run", "--max-samples", "1", "--skip", "*mm*")
        self.assertEqual(done.stdout.count("\n"), 6)
        self.assertIn("aten.relu.default[0]", done.stdout)
        self.assertNotIn("relu.default[1]", done.stdout)
        self.assertNotIn("aten.mm", done.stdout)
        self.assertEqual(os.listdir(self.folder), ["model.txt"])

    def test_dry_run_counts_what_cannot_be_measured(self):
        bad = self.write("bad.txt", "Operator: aten.rleu.default\ncnt: 1, ((T([4], f32),), {})\n"
                                    "Operator: aten.relu.default\ncnt: 1, ((T([4], f32),), {})\ncnt: 1, ((T([4], f32), 1), {})\n"
                                    "cnt: 1, ((T([4000, 1000], f32),), {})\n"
                                    "Operator: aten.mm.default\ncnt: 1, ((T([4, 5], f32), T([4, 5], f32)), {})\ncnt: 1, ((T([4, -5], f32), T([4, 5], f32)), {})\n")
        done = self.run_assay("operators", "--inputs", bad, "--dry-run", "--max-memory", "30MB", code=1)
        self.assertEqual(done.stdout.splitlines()[-1], "1 input would be measured, 4 cannot be, 1 would be skipped")
        for said in ("    cannot be measured: ", "bad.txt:1:11: no operator is called aten.rleu.default; did you mean 'aten.relu.default'?",
                     "    would be skipped: needs about ", "bad.txt:8:10: mm.default: expected "):
            self.assertIn(said, done.stdout)
        self.run_assay("operators", "--inputs", bad, "--dry-run", "--op", "*rleu*") # which a run does not fail for, nor for memory
        self.run_assay("operators", "--inputs", bad, "--dry-run", "--start-idx", "2", "--max-memory", "10MB")
        records = [r["status"] for r in self.records("--inputs", bad, "--max-memory", "30MB", code=None)]
        self.assertEqual((records.count("ok"), records.count("skipped")), (1, 1))
        well = self.run_it("--dry-run").stdout
        self.assertTrue(well.endswith("\n7 inputs would be measured\n"), well)

    def test_quiet_tells_of_failures(self):
        """Nothing when all is well; one line when not, since a log may hold nothing else."""
        self.assertEqual(self.run_it("--quiet").stderr, "")
        done = self.run_it("--quiet", "--op", "relu", "--backend", plugin("wrong_result"), code=4)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Aassay operators: of 4 results 2 differed from the reference \(exit code 4\), "
                                      r"the first aten\.relu\.default\[0\] on wrong_result: .*\n\Z")
        done = self.run_it("--quiet", "--op", "relu", "--backend", plugin("run_crashes"), "--backend", plugin("wrong_result"), code=4)
        self.assertIn("of 6 results 2 failed, 2 differed from the reference (exit code 4), the first aten.relu.default[0] on run_crashes: ", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_quiet_tells_where_nothing_ran(self):
        done = self.run_it("--quiet", "--op", "relu", "--max-memory", "100")
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Aassay operators: nothing ran, of 2 results 2 skipped \(exit code 0\), the first aten\.relu\.default\[0\] on "
                                      r"reference: needs about .*\n\Z")

    def test_failures_are_told_where_no_table_is(self):
        for option in ("--csv", "--jsonl"):
            with self.subTest(option=option):
                done = self.run_it(option, "-", "--op", "relu", "--backend", plugin("wrong_result"), code=4)
                self.assertIn("of 4 results 2 differed from the reference (exit code 4)", done.stderr)
        done = self.run_it("--csv", "c.csv", "--op", "relu", "--backend", plugin("wrong_result"), code=4)
        self.assertEqual(done.stderr, "") # the table has it

    def test_what_is_shown_moves_no_terminal(self):
        """Neither an input's own text nor a plug-in's sentence."""
        strange = self.write("strange.txt", 'Operator: aten.relu.default\ncnt: 1, ((T([4], f32),), {"a\x1b[31m": 1})\n'
                                            'cnt: 1, ((T([5], f32),), {"a\\nb\\x1b[31m\\x9b": 1})\n')
        for words in (["--dry-run"], [], ["--quiet"]):
            with self.subTest(words=words):
                done = self.operators("--inputs", strange, *REFERENCE, *words, code=None)
                shown = done.stdout + done.stderr
                self.assertIn("has no argument 'a", shown)
                self.assertFalse([c for c in shown if c != "\n" and not c.isprintable()], shown)
        listed = self.run_assay("list", "backends", "--backend", plugin("exits")).stdout
        self.assertIn("wrong?[31m on purpose", listed)

    def test_saved_arrays(self):
        self.run_it("--save", "saved", "--dtype", "as-recorded", "--jsonl", "r.jsonl")
        with open(self.path("saved/manifest.jsonl")) as f:
            lines = [json.loads(line) for line in f]
        self.assertEqual({line["record"] for line in lines}, {"input", "output"})
        with_file = [line for line in lines if line.get("file")]
        self.assertEqual(len({line["file"] for line in with_file}), len(with_file))
        self.assertEqual(len(with_file), len([n for n in os.listdir(self.path("saved")) if n.endswith(".npy")]))
        sizes = {"f2": 2, "f4": 4, "i8": 8, "b1": 1}
        for line in with_file:
            descr, fortran, shape, data = read_npy(os.path.join(self.path("saved"), os.path.basename(line["file"])))
            n = 1
            for size in shape:
                n *= size
            self.assertEqual((fortran, shape), (False, line["shape"]), line)
            self.assertEqual(len(data), n * sizes[descr[1:]], line)
        relu = [line for line in with_file if line["operator"] == "aten.relu.default" and line["sample_index"] == 0]
        arrays = [read_npy(os.path.join(self.path("saved"), os.path.basename(line["file"])))[3] for line in relu]
        given, made = (struct.unpack("<20f", a) for a in arrays)
        self.assertEqual(made, tuple(max(x, 0) for x in given))
        strided = [line for line in with_file if line["operator"].startswith("aten.sum")][0]
        self.assertEqual((strided["dtype"], strided["strides"]), ("f16", [1, 3]))

    def test_what_is_saved_is_not_overwritten(self):
        self.run_it("--save", "saved", "--op", "relu")
        before = {n: os.stat(self.path("saved/" + n)).st_mtime_ns for n in os.listdir(self.path("saved"))}
        done = self.run_it("--save", "saved", "--op", "mm", "--jsonl", "r.jsonl", code=1)
        self.assertIn("saved/manifest.jsonl: there are saved tensors already; name another folder, or remove this one first", done.stderr)
        self.assertEqual({n: os.stat(self.path("saved/" + n)).st_mtime_ns for n in os.listdir(self.path("saved"))}, before)
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith("r.jsonl")], [])
        with open(self.path("saved/manifest.jsonl"), "w"): # nothing is listed
            pass
        self.run_it("--save", "saved", "--op", "mm")

    def test_the_table_names_its_inputs(self):
        shown = self.run_it("--op", "relu").stdout
        self.assertRegex(shown, r"\nInputs \S*model\.txt, f32, \d+ threads?, warm caches, every result checked\nTimes are ")
        shown = self.operators("--op", "aten.relu.default", "--max-samples", "1", *REFERENCE, "--no-accuracy-checking",
                               env={"ASSAY_SUITES": self.path("nowhere")}).stdout
        if "\nSuite torchbench, " not in shown: # which may be installed
            self.assertRegex(shown, r"\nSuite embedded \(torchbench was not found\), f32, .*, results not checked\n")

    def test_arrays_are_listed_once(self):
        """A point that is done again, since a backend crashed there, has lines in the manifest already; long names stay apart."""
        twins = [plugin("long_name_a"), plugin("long_name_b")]
        self.operators("--inputs", self.inputs, "--op", "relu", "--backend", plugin("crashes_later"), "--backend", twins[0], "--backend", twins[1],
                       *REFERENCE, "--save", "saved", code=1)
        with open(self.path("saved/manifest.jsonl")) as f:
            lines = [json.loads(line) for line in f]
        self.assertEqual(sorted(line["sample_index"] for line in lines), [0] * 5 + [1] * 5)
        self.assertEqual(sorted({line["backend"][-13:] for line in lines if line["record"] == "output"}),
                         ["crashes_later", "he_last_one_a", "he_last_one_b", "reference"])
        self.assertEqual(len({line["file"] for line in lines}), len(lines))
        self.assertEqual(sorted(os.listdir(self.path("saved"))), sorted([line["file"] for line in lines] + ["manifest.jsonl"]))

    def test_arrays_that_cannot_be_saved(self):
        """Files may not grow beyond 2 KiB, as on a full disk: the run goes on, and says so."""
        inputs = self.write("large.txt", "Operator: aten.relu.default\ncnt: 1, ((T([2000], f32),), {})\n")
        done = subprocess.run([ASSAY, "operators", "--inputs", inputs, "--repeats", "1", "--save", "saved"], capture_output=True,
                              cwd=self.folder, timeout=100, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"--save lacks 2 files or lines of its manifest", done.stderr)
        self.assertIn(b"eager: 1 ok", done.stdout)
        self.assertEqual(os.listdir(self.path("saved")), ["manifest.jsonl"])

    def test_colours(self):
        for env in ({}, {"NO_COLOR": "1"}, {"TERM": "xterm-256color", "FORCE_COLOR": "1"}):
            self.assertNotIn("\x1b", self.run_it(env=env).stdout)
        self.assertNotIn("\x1b", self.run_it("--color", "never").stdout)
        self.assertIn("\x1b[", self.run_it("--color", "always").stdout)

    def test_table(self):
        table = self.run_it().stdout
        for name in ("aten.relu.default", "aten.add_.Tensor", "aten.mm.default"):
            self.assertIn(name, table)
        self.assertIn("reference: 7 ok", table)

    def test_output_that_cannot_be_written(self):
        for option in ("--csv", "--jsonl", "--save"):
            with self.subTest(option=option):
                done = self.run_it(option, os.path.join(self.inputs, "x"), code=1)
                self.assertIn("model.txt/x", done.stderr)

    def test_output_that_is_a_directory(self):
        os.mkdir(self.path("d"))
        for option in ("--csv", "--jsonl"):
            with self.subTest(option=option):
                done = self.run_it(option, "d", code=1)
                self.assertEqual((done.stdout, done.stderr), ("", "assay operators: d: expected a file to write, this is a directory\n"))
                self.assertEqual(sorted(os.listdir(self.folder)), ["d", "model.txt"])

    def test_output_that_is_full(self):
        """What cannot be written at the end costs neither the table nor the other outputs."""
        for broken, whole, end in (("--csv", "--jsonl", '"run_summary"'), ("--jsonl", "--csv", "aten.mm.default")):
            with self.subTest(broken=broken):
                done = self.run_it(broken, "/dev/full", whole, "whole", code=1)
                self.assertIn("reference: 7 ok", done.stdout)
                self.assertEqual(done.stderr.count("/dev/full: cannot be written: No space left on device"), 1)
                with open(self.path("whole")) as f:
                    self.assertIn(end, f.read().splitlines()[-1])
        done = self.run_it("--quiet", "--jsonl", "/dev/full", code=1)
        self.assertEqual(done.stderr.count("/dev/full: cannot be written"), 1)

    def test_reader_that_is_gone(self):
        """It costs what it would have read, not the other outputs; where there are none, all ends as in any pipe."""
        for more, code, said in (["--csv", "c.csv"], 1, b"cannot be written: Broken pipe"), ([], -signal.SIGPIPE, b""):
            with self.subTest(more=more):
                out, into = os.pipe()
                os.close(out)
                done = subprocess.run([ASSAY, "operators", "--inputs", self.inputs, *QUICK, *REFERENCE, "--jsonl", "-", "--quiet", *more],
                                      stdout=into, stderr=subprocess.PIPE, cwd=self.folder, timeout=100)
                os.close(into)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(said, done.stderr)
        with open(self.path("c.csv")) as f:
            self.assertIn("aten.mm.default", f.read())

    def test_outputs_that_are_one_file(self):
        """However they are spelled: none is written over another one, and none over an input."""
        os.mkdir(self.path("d"))
        os.symlink("d", self.path("e"))
        self.write("old", "")
        os.link(self.path("old"), self.path("other_name"))
        for one, other in (("new", "./new"), ("d/new", "e/new"), (self.path("new"), "d/../new"), ("old", "./old"), ("old", "other_name")):
            with self.subTest(one=one, other=other):
                done = self.run_it("--csv", one, "--jsonl", other, code=2)
                self.assertEqual(done.stdout, "")
                self.assertIn(f"--csv and --jsonl cannot both go to {one}", done.stderr)
        self.assertIn("--csv and --jsonl", self.run_it("--jsonl", "r", "--csv", "r.partial", code=2).stderr)
        self.assertIn("--jsonl and --save", self.run_it("--jsonl", "s/manifest.jsonl", "--save", "./s", code=2).stderr)
        for option, path in (("--csv", "model.txt"), ("--jsonl", "./d/../model.txt"), ("--csv", self.inputs)):
            with self.subTest(option=option, path=path):
                done = self.run_it(option, path, code=2)
                self.assertIn(f"{option} would write {path}, which was read as an input", done.stderr)
        with open(self.inputs) as f:
            self.assertEqual(f.read(), MIXED)
        self.run_it("--csv", "/dev/null", "--jsonl", "/dev/null")

    def test_nothing_is_left(self):
        for words, said in ((["--op", "relu", "--start-idx", "5"], "--start-idx 5 passes over all of them, an operator has 2 at most"),
                            (["--op", "relu", "--skip", "relu"], "--skip leaves out all that --op chooses"),
                            (["--skip", "*"], "--skip leaves out all that there are")):
            for more in ([], ["--dry-run"]):
                with self.subTest(words=words):
                    done = self.run_it(*words, *more, code=2)
                    self.assertEqual(done.stdout, "")
                    self.assertIn(f"assay operators: no input is left: {said}", done.stderr)

    def test_devices_stay_devices(self):
        """A rename would put a file in a pipe's place, or, for root, in a device's."""
        pipe = self.path("pipe")
        for option in ("--csv", "--jsonl"):
            with self.subTest(option=option):
                os.mkfifo(pipe)
                with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
                    self.run_it(option, pipe)
                    self.assertIn(b"aten.relu.default", reader.read())
                self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
                os.remove(pipe)

    def test_same_seed_same_values(self):
        for folder, seed in (("s0", "0"), ("again", "0"), ("s1", "1")):
            self.run_it("--seed", seed, "--save", folder, "--op", "relu.default")
        with open(self.path("s0/manifest.jsonl")) as f:
            name = os.path.basename(json.loads(f.readline())["file"])
        first, again, other = (read_npy(self.path(f"{folder}/{name}"))[3] for folder in ("s0", "again", "s1"))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)


if __name__ == "__main__":
    main()
