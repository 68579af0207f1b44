# SPDX-License-Identifier: Apache-2.0
"""Bad recorded inputs: a message with file, line and column or a status with its reason, never a crash, and the good lines
are measured all the same."""
import gzip
import os
import re

from cli_case import RELU, Case, main

# A line under mm.default, and where and how it is refused: by the reader (a diagnostic) or by its own record (a status).
READER = [
    ("cnt: x, ((), {})", "3:6: expected how often it was called, a positive integer of 64 bits, got 'x'\n"),
    ("cnt: -1, ((), {})", "3:6: expected how often it was called, a positive integer of 64 bits, got '-1'\n"),
    ("cnt: , ((), {})", "3:6: expected how often it was called, a positive integer of 64 bits, got ','\n"),
    ("cnt: 12 ((), {})", "3:8: expected ',' behind the number of calls, got ' ((), {})'\n"),
    ("cnt: 1, ((T([2, 3], f32), {})", "3:"),
    ("cnt: 1, ((T([2, 3], f99),), {})", "3:"),
    ("cnt: 1, ((__import__('os').system('touch pwned'),), {})", "3:11"),
    ("nonsense", "3:1"),
    ("cnt: 1, ((" + "[" * 5000 + ",), {})", "3:"),
]
RECORD = [
    ("cnt: 1, ((T([2, -3], f32), T([3, 4], f32)), {})", "failed", ":3:11: mm.default"),
    ("cnt: 1, ((T([1000000000000000000], f32), T([3, 4], f32)), {})", "skipped", ":3:11: mm.default"),
    ("cnt: 1, ((T([9223372036854775807, 9223372036854775807], f32), T([3, 4], f32)), {})", "skipped", ":3:11:"),
    ("cnt: 1, ((T([2, 3], f32),), {})", "failed", "mat2"),
    ("cnt: 1, ((T([2, 3], f32), T([3, 4], f32), 1), {})", "failed", ":3:43:"),
    ("cnt: 1, ((T([2, 3], f32), 'a'), {})", "failed", ":3:27:"),
    ("cnt: 1, ((T([2, 3], f32), T([3, 4], f32)), {'mta2': 1})", "failed", ":3:"),
    ("cnt: 1, ((T([2, 3], f32), T([5, 4], f32)), {})", "failed", ":3:10: mm.default: expected shapes"),
    ("cnt: 1, ((T([2, 3], f32), T([3, 4], i64)), {})", "failed", ":3:10: mm.default"),
    ("cnt: 1, ((T([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], f32), T([3, 4], f32)), {})", "unsupported", ":3:11: mm.default"),
]
GOOD = "Operator: aten.mm.default\ncnt: 2, ((T([2, 3], f32), T([3, 4], f32)), {})\n"


class BadInput(Case):
    def test_names_that_lack_parts(self):
        """What is missing is told, and the likely name in whole."""
        for name, said in (("relu", "got 'relu', which lacks its namespace and its overload; did you mean aten.relu.default?;"),
                           ("aten.relu", "got 'aten.relu', which lacks its overload; did you mean aten.relu.default?;"),
                           ("aten.relu.", "got 'aten.relu.', which lacks its overload; did you mean aten.relu.default?;"),
                           ("add", "lacks its namespace and its overload; did you mean aten.add.Tensor?;"),
                           ("add.Scalar", "lacks its namespace or its overload; did you mean aten.add.Scalar?;"),
                           ("rleu", "did you mean aten.relu.default?;"), ("nosuchthing", "got 'nosuchthing', which lacks its namespace and its overload;"),
                           ("", "such as aten.add.Tensor, got the end of the line;")):
            with self.subTest(name=name):
                path = self.write("names.txt", f"Operator: {name}\ncnt: 1, ((T([2], f32),), {{}})\n" + GOOD)
                done = self.operators("--inputs", path, "--dry-run", code=2)
                self.assertIn("expected an operator's name such as aten.add.Tensor", done.stderr)
                self.assertIn(said, done.stderr)
                if name:
                    self.assertIn("names.txt:1:11: ", done.stderr)

    def test_valid_but_for_channels_last(self):
        """No error of the file: what the option's layout alone rules out is not served."""
        valid = "Operator: aten._unsafe_view.default\ncnt: 1, ((T([2, 4, 3, 5], f32), [2, 60]), {})\ncnt: 1, ((T([2, 1, 3, 5], f32), [30]), {})\n"
        path = self.write("views.txt", valid)
        self.assertEqual([r["status"] for r in self.records("--inputs", path)], ["ok", "ok"])
        view, other = self.records("--inputs", path, "--channels-last")
        self.assertEqual((view["status"], other["status"]), ("unsupported", "ok"))
        self.assertTrue(view["reason"].startswith("laid out by --channels-last, not as recorded: _unsafe_view.default: f32[2, 4, 3, 5]"), view["reason"])
        self.assertIn("    cannot be measured: laid out by --channels-last", self.operators("--inputs", path, "--channels-last", "--dry-run").stdout)
        graph = self.write("view.graph", "graph view\n%x = input(T([2, 4, 3, 5], f32))\n%y = view(%x, [2, 60])\nreturn %y\n")
        record, = self.records("--inputs", graph, "--channels-last")
        self.assertEqual(record["status"], "unsupported")
        wrong = self.write("wrong.txt", valid.replace("60", "61"))
        view, _ = self.records("--inputs", wrong, "--channels-last", code=1)
        self.assertEqual(view["status"], "failed")
        self.assertIn("wrong.txt:2:", view["reason"])

    def test_lines_that_cannot_be_read(self):
        for line, position in READER:
            with self.subTest(line=line[:60]):
                path = self.write("bad.txt", GOOD + line + "\n")
                done = self.operators("--inputs", path, "--backend", "reference", "--baseline", "reference", code=2)
                self.assertIn(f"{path}:{position}", done.stderr)
                self.assertIn("1 ok", done.stdout)
        self.assertFalse(os.path.exists(self.path("pwned")))

    def test_inputs_that_cannot_be_called(self):
        for line, status, reason in RECORD:
            with self.subTest(line=line):
                path = self.write("bad.txt", GOOD + line + "\n")
                records = self.records("--inputs", path, "--backend", "reference", "--baseline", "reference",
                                       code=1 if status == "failed" else 0)
                self.assertEqual([r["status"] for r in records], ["ok", status])
                self.assertIn(reason, records[1]["reason"])
                self.assertIsNone(records[1]["median_ns"])

    def test_unknown_operator(self):
        path = self.write("bad.txt", RELU + "Operator:  aten.rellu.default\ncnt: 1, ((T([2], f32),), {})\n")
        records = self.records("--inputs", path, "--backend", "reference", "--baseline", "reference")
        self.assertEqual([r["status"] for r in records], ["ok", "ok", "unsupported"])
        self.assertEqual(records[2]["reason"],
                         f"{path}:4:12: no operator is called aten.rellu.default; did you mean 'aten.relu.default'?")

    def test_near_operators(self):
        """What is before the overload decides: ".default" makes no names alike."""
        for name, near in (("arange.default", None), ("softmax.int", "aten._softmax.default"), ("add.out", "aten.add.Tensor"),
                           ("nm.default", "aten.mm.default"), ("ad.Tensor", "aten.add.Tensor"), ("add.tensor", "aten.add.Tensor"), ("xyz.default", None)):
            path = self.write("unknown.txt", f"Operator: aten.{name}\ncnt: 1, ((T([2], f32),), {{}})\n")
            said = self.operators("--inputs", path, "--dry-run").stdout
            self.assertEqual(re.findall("did you mean '([^']*)'", said), [near] if near else [])
            if near is None:
                message = self.operators("--suite", "embedded", "--op", f"aten.{name}", "--dry-run", code=2).stderr
                self.assertNotIn("did you mean", message)

    def test_files_that_are_no_inputs(self):
        whole = gzip.compress(RELU.encode() * 50)
        os.mkdir(self.path("empty"))
        cases = {
            "junk.txt": bytes(range(256)) * 40,
            "empty.txt": b"",
            "text.txt": b"Dear reader,\nthis is no list of operators.\n",
            "cut.txt.gz": whole[: len(whole) // 2],
            "flipped.txt.gz": whole[:20] + bytes([whole[20] ^ 0xFF]) + whole[21:],
        }
        for name, content in cases.items():
            self.write(name, content)
        for name in list(cases) + ["empty", "missing.txt"]:
            with self.subTest(name=name):
                done = self.operators("--inputs", name, code=2)
                self.assertIn(name, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_inputs_larger_than_the_machine(self):
        large = ["aten.relu.default", "((T([100000000000], f32),), {})"]
        for verb, code in ((["compile", *large], 2), (["utilization", "--run", *large], 1)):
            with self.subTest(verb=verb[0]):
                done = self.run_assay(*verb, code=code)
                self.assertRegex(done.stderr, r"needs about \d+ bytes .* the limit is")

    def test_traces_that_are_none(self):
        os.mkdir(self.path("folder"))
        self.write("empty.json", b"")
        self.write("junk.json", bytes(range(256)) * 40)
        self.write("cut.json.gz", b"\x1f\x8b nothing")
        for name in ("missing.json", "folder", "empty.json", "junk.json", "cut.json.gz"):
            for words in ([name], ["--diff", name, name]):
                with self.subTest(words=words):
                    done = self.run_assay("utilization", *words, code=2)
                    self.assertEqual(done.stdout, "")
                    self.assertIn(name, done.stderr)

    def test_standard_input_and_gzip(self):
        relu_gz = self.write("model.txt.gz", gzip.compress(RELU.encode()))
        plain = self.operators("--inputs", self.write("model.txt", RELU), "--dry-run").stdout
        self.assertIn("aten.relu.default[1]  calls 1  ((T([7], f32),), {})", plain)
        self.assertEqual(self.operators("--inputs", relu_gz, "--dry-run").stdout, plain)
        self.assertEqual(self.operators("--inputs", "-", "--dry-run", stdin=RELU.encode()).stdout, plain)
        # a bad file of a folder is told, the others are read
        os.mkdir(self.path("folder"))
        self.write("folder/a.txt", RELU)
        self.write("folder/b.txt", b"\0\1\2")
        done = self.operators("--inputs", "folder", "--dry-run", code=2)
        self.assertEqual(done.stdout, plain)
        self.assertIn("b.txt", done.stderr)

    def test_places_of_bad_files(self):
        """A file of a folder that is left out is told with its place, as others are, and counted."""
        os.mkdir(self.path("folder"))
        self.write("folder/a.txt", RELU + "nonsense\n")
        self.write("folder/b.txt", b"Operator: aten.relu.default\ncnt\0\n")
        self.write("folder/c.graph", b"graph c\n%x = in\0\n")
        self.write("folder/d.graph", b"graph d\n%x = input(T([2], f32)\nreturn %x\n")
        self.write("folder/e.txt.gz", b"\x1f\x8b nothing")
        done = self.operators("--inputs", "folder", "--dry-run", code=2)
        for place in ("folder/a.txt:4:1: expected", "folder/b.txt:2:4: expected text", "folder/c.graph:2:8: expected text",
                      "folder/d.graph:2:", "folder/e.txt.gz: ", "assay operators: 1 line and 4 files are left out\n"):
            self.assertIn(place, done.stderr)
        self.assertNotIn(": 2:", done.stderr)
        done = self.operators("--inputs", "folder/c.graph", code=2)
        self.assertIn("folder/c.graph:2:8: expected text, got a NUL byte", done.stderr)

    def test_a_file_of_two_names(self):
        """Its calls count once, and that is told."""
        path = self.write("model.txt", RELU)
        plain = self.operators("--inputs", path, "--dry-run").stdout
        os.symlink(path, self.path("other.txt"))
        for again in (path, os.path.join(self.folder, ".", "model.txt"), self.path("other.txt")):
            with self.subTest(again=again):
                done = self.operators("--inputs", path, "--inputs", again, "--dry-run", code=2)
                self.assertEqual(done.stdout, plain)
                self.assertEqual(done.stderr, f"{path}: {again} is this file once more, and its calls count once\n")

    def test_names_as_pytorch_prints_them(self):
        relu = self.operators("--suite", "embedded", "--op", "aten.relu.default", "--dry-run").stdout
        for name in ("torch.ops.aten.relu.default", "torch.ops.aten.rel[u]*"):
            self.assertIn(relu.splitlines()[0], self.operators("--suite", "embedded", "--op", name, "--dry-run").stdout)


if __name__ == "__main__":
    main()
