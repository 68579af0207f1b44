# SPDX-License-Identifier: Apache-2.0
"""A record's command asks for each backend as the run did, whatever a plug-in's file and name are; the baseline may be told by path."""
import os
import shlex
import shutil
import subprocess

from cli_case import ASSAY, EXAMPLE, RELU, Case, main, plugin, records_of

REFERENCE = ["--backend", "reference", "--baseline", "reference"]


class Repro(Case):
    def setUp(self):
        super().setUp()
        self.inputs = self.write("model.txt", RELU)

    def check_repeated(self, records, code=0):
        for record in records:
            with self.subTest(repro=record["repro"]):
                again = records_of(self.run_assay(*shlex.split(record["repro"])[1:], "--jsonl", "-", code=code).stdout)
                for key in ("backend", "baseline", "sample_index", "status", "repro"):
                    self.assertIn(record[key], [r[key] for r in again])

    def test_file_of_another_name(self):
        shutil.copy(EXAMPLE, self.path("plug.so"))
        for baseline in ("eager", "example", "./plug.so"):
            with self.subTest(baseline=baseline):
                records = self.records("--inputs", self.inputs, "--backend", "./plug.so", "--backend", "eager", "--baseline", baseline)
                self.assertEqual({r["backend"] for r in records if r["baseline"]}, {"eager" if baseline == "eager" else "example"})
                for record in records:
                    involved = "example" in (record["backend"], baseline) or baseline == "./plug.so"
                    self.assertEqual("--backend ./plug.so" in record["repro"], involved, record["repro"])
                self.check_repeated(records)

    def test_file_whose_name_is_no_utf_8(self):
        if shutil.which("bash") is None:
            self.skipTest("a shell that reads $'...' is needed")
        name = self.write(os.fsdecode(b"caf\xe9 it's.txt"), RELU)
        for record in self.records("--inputs", name):
            done = subprocess.run(["bash", "-c", record["repro"].replace("assay", ASSAY, 1) + " --jsonl -"], capture_output=True, cwd=self.folder)
            again, = records_of(done.stdout.decode())
            self.assertEqual((again["input"], again["repro"]), (record["input"], record["repro"]))

    def test_file_named_like_another_backend(self):
        shutil.copy(EXAMPLE, self.path("my_eager.so"))
        records = self.records("--inputs", self.inputs, "--backend", "eager", "--backend", "./my_eager.so")
        for record in records:
            self.assertEqual(record["repro"].count("my_eager.so"), record["backend"] == "example")
        self.check_repeated(records)

    def test_verdicts_on_other_files(self):
        for name, status, code in (("run_crashes", "failed", 1), ("exits", "failed", 1), ("wrong_result", "mismatch", 4), ("hangs", "timeout", 1)):
            with self.subTest(plugin=name):
                shutil.copy(plugin(name), self.path("p.so"))
                more = ["--sample-timeout", "1", "--max-samples", "1"]
                records = self.records("--inputs", self.inputs, "--backend", "./p.so", *REFERENCE, *more, code=code)
                own = [r for r in records if r["backend"] == name]
                self.assertEqual([r["status"] for r in own], [status])
                self.assertIn("--backend ./p.so ", own[0]["repro"])
                self.check_repeated(own, code)
                os.remove(self.path("p.so"))

    def test_baseline_by_path(self):
        """It is run as well where nothing else asks for it, and two paths of one file are one backend."""
        folder = os.path.dirname(EXAMPLE)
        for given in ([], ["--backend", "eager"], ["--backend", f"{folder}/../example/libexample.so"]):
            with self.subTest(given=given):
                records = self.records("--inputs", self.inputs, *given, "--baseline", EXAMPLE)
                self.assertEqual({r["backend"] for r in records if r["baseline"]}, {"example"})
                self.assertTrue(all(r["status"] == "ok" for r in records))

    def test_baseline_mistyped(self):
        for name, said in (("egaer", "(eager, example), got 'egaer'; did you mean 'eager'?"), ("exmaple", "did you mean 'example'?"),
                           ("refrence", "did you mean 'reference'?"), ("nobody", "(eager, example), got 'nobody'\n")):
            with self.subTest(name=name):
                done = self.operators("--inputs", self.inputs, "--backend", "eager", "--backend", EXAMPLE, "--baseline", name, code=2)
                self.assertIn(said, done.stderr)
                self.assertNotIn("add --backend", done.stderr)


if __name__ == "__main__":
    main()
