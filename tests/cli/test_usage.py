# SPDX-License-Identifier: Apache-2.0
"""Help for every verb, typos answered with the nearest name, values out of range: exit code 2 and one clear sentence."""
import json
import os
import resource
import subprocess

from cli_case import ASSAY, EXAMPLE, QUICK, Case, main

# (arguments, what the message must hold)
MISTAKES = [
    ([], ["usage: assay VERB"]),
    (["operatos"], ["operatos", "operators"]),
    (["help", "operatos"], ["operatos", "did you mean 'operators'?"]),
    (["--help", "operators", "list"], ["expected one verb, got 'list' besides operators"]),
    (["version", "x"], ["assay version: takes no argument, got 'x'"]),
    (["--version", "x"], ["takes no argument, got 'x'"]),
    (["operators", "--opp", "x"], ["--opp", "--op"]),
    (["operators", "--op"], ["--op", "GLOB"]),
    (["operators", "--quiet=1"], ["--quiet", "takes no value"]),
    (["operators", "extra"], ["extra"]),
    (["operators", "--suite", "hf_train"], ["got 'hf_train'; did you mean huggingface?"]),
    (["operators", "--suite", "embedded", "--op", "layer_norm"], ["did you mean 'native_layer_norm'?"]),
    (["operators", "--suite", "embedded", "--skip", "nope"], ["operators; `--dry-run` without --skip lists them\n"]),
    (["compile", "layer_norm", "x"], ["did you mean 'native_layer_norm'? `assay list operators` names them\n"]),
    (["compile", "nope", "x"], ["'nope'; `assay list operators` names them\n"]),
    (["operators", "--suite", "embeded"], ["embeded", "embedded"]),
    (["operators", "--dtype", "f33"], ["--dtype: expected as-recorded, f16, bf16, f32 or f64, got 'f33'", "'f32'"]),
    (["operators", "--dtype", "half"], ["--dtype: expected ", "got 'half' (did you mean 'f16'?)"]),
    (["operators", "--dtype", "floot32"], ["(did you mean 'float32'?)"]),
    (["compile", "--dtype", "double"], ["--dtype: expected ", "got 'double' (did you mean 'f64'?)"]),
    (["utilization", "--dtype", "fp16"], ["--dtype: expected ", "got 'fp16' (did you mean 'f16'?)"]),
    (["operators", "--device", "gpu"], ["gpu", "cpu"]),
    (["operators", "--cache", "hot"], ["hot", "cold"]),
    (["operators", "--color", "sometimes"], ["sometimes", "always"]),
    (["operators", "--max-samples", "0"], ["--max-samples", "'0'"]),
    (["operators", "--max-samples", "3x"], ["--max-samples", "3x"]),
    (["operators", "--max-samples", "99999999999999999999"], ["--max-samples"]),
    (["operators", "--start-idx", "-1"], ["--start-idx"]),
    (["operators", "--repeats", "-1"], ["--repeats"]),
    (["operators", "--min-time", "nan"], ["--min-time"]),
    (["operators", "--sample-timeout", "0"], ["--sample-timeout"]),
    (["operators", "--max-memory", "99999999TiB"], ["--max-memory: '99999999TiB' is too large", "10^18 bytes"]),
    (["operators", "--max-memory", "0x10MB"], ["--max-memory: expected a size", "'0x10MB'"]),
    (["operators", "--min-time", "0x1"], ["--min-time: expected a number", "'0x1'"]),
    (["operators", "--seed", "0x10"], ["--seed: expected a whole number", "'0x10'"]),
    (["operators", "--max-memory", "8 elephants"], ["--max-memory", "8 elephants"]),
    (["operators", "--threads", "0"], ["--threads"]),
    (["operators", "--seed", "-1"], ["--seed"]),
    (["operators", "--backend", "eagr"], ["eagr", "eager"]),
    (["operators", "--backend", "./nowhere.so"], ["nowhere.so"]),
    (["operators", "--backend", "compiled:autotun"], ["got 'compiled:autotun'; did you mean 'compiled:autotune'?"]),
    (["operators", "--backend", "eager,compiled:autotune"], ["of several each has an option of its own: --backend eager --backend compiled:autotune"]),
    (["operators", "--backend", "eager,./x.so"], ["--backend eager --backend ./x.so"]),
    (["operators", "--suite", "embedded", "--op", "relu,add"], ["'relu,add' matches none", "each has an option of its own: --op relu --op add\n"]),
    (["operators", "--suite", "embedded", "--skip", "relu,add"], ["--skip relu --skip add\n"]),
    (["operators", "--suite", "embedded", "--op", ""], ["--op '' matches none of the ", " recorded operators; `--dry-run` without --op lists them\n"]),
    (["operators", "--suite", "embedded", "--op", "["], ["--op '[' matches none of the ", " recorded operators; `--dry-run` without --op lists them\n"]),
    (["operators", "--suite", "embedded", "--op", "RELU"], ["did you mean 'relu'?"]),
    (["operators", "--suite", "embedded", "--op", "torch.ops.aten.RELU"], ["did you mean "]),
    (["compile", "--dump", "x", "a"], ["--dump: expected text, graph, kernels or c, got 'x'\n"]),
    (["operators", "--save", "-"], ["--save: expected a folder, got '-'", "./-"]),
    (["operators", "--profile", "-"], ["--profile: expected a folder, got '-'"]),
    (["utilization", "--run", "a", "b", "--trace-folder", "-"], ["--trace-folder: expected a folder, got '-'"]),
    (["operators", "--save", ""], ["--save: expected a folder, got no name"]),
    (["operators", "--csv", ""], ["--csv: expected a file or '-', got no name"]),
    (["operators", "--jsonl="], ["--jsonl: expected a file or '-', got no name"]),
    (["operators", "--baseline", "nobody"], ["nobody"]),
    (["operators", "--suite", "embedded", "--inputs", "x"], ["--suite", "--inputs"]),
    (["operators", "--suite", "embedded", "--op", "aten.ad.Tensor"], ["aten.ad.Tensor", "aten.add.Tensor"]),
    (["operators", "--suite", "embedded", "--op", "rleu"], ["rleu", "'relu'"]),
    (["operators", "--suite", "embedded", "--op", "aten._softmx*"], ["aten._softmx*", "'aten._softmax'"]),
    (["operators", "--suite", "embedded", "--skip", "nothing*"], ["nothing*"]),
    (["operators", "--suite", "embedded", "--op", "nope*", "--op", "relu", "--op", "rleu"], ["'nope*', 'rleu' match none", "; did you mean 'relu'? `--dry-run` without --op lists them\n"]),
    (["operators", "--csv", "-", "--jsonl", "-"], ["--csv", "--jsonl", "standard output"]),
    (["operators", "--csv", "both", "--jsonl", "both"], ["--csv", "--jsonl", "both go to both"]),
    (["operators", "--csv", "a1", "--csv", "a2"], ["--csv is given twice", "'a1'", "'a2'"]),
    (["operators", "--dtype", "f16", "--dtype=bf16"], ["--dtype is given twice", "'f16'", "'bf16'"]),
    (["operators", "--repeats", "1", "--repeats", "2"], ["--repeats is given twice"]),
    (["operators", "--cache", "warm", "--cache", "cold"], ["--cache is given twice"]),
    (["operators", "--accuracy-checking", "--no-accuracy-checking"], ["--accuracy-checking does not go with --no-accuracy-checking"]),
    (["operators", "--dry-run", "--csv", "-"], ["--dry-run does not go with --csv"]),
    (["operators", "--jsonl", "-", "--dry-run"], ["--dry-run does not go with --jsonl"]),
    (["operators", "--dry-run", "--save", "d"], ["--dry-run does not go with --save"]),
    (["operators", "--dry-run", "--profile", "d"], ["--dry-run does not go with --profile"]),
    (["compile", "--dump", "kernels", "--variants", "x.graph"], ["--variants does not go with --dump kernels"]),
    (["compile", "--dump=graph", "--variants", "x.graph"], ["--variants does not go with --dump graph"]),
    (["compile", "--no-fusion", "--variants", "x.graph"], ["--variants does not go with --no-fusion"]),
    (["utilization", "--diff", "a", "b", "--by-operator"], ["--by-operator does not go with --diff"]),
    (["utilization", "--diff", "a", "b", "--label", "x"], ["--label does not go with --diff"]),
    (["utilization", "a", "--wall-time", "1", "--window", "device"], ["--wall-time does not go with --window"]),
    (["utilization", "--run", "a", "b", "--wall-time", "1"], ["--wall-time does not go with --run"]),
    (["list", "suites", "--backend", "torch"], ["--backend does not go with suites"]),
    (["list", "devices", "--backend", "eager"], ["--backend does not go with devices"]),
    (["list", "operators", "suites"], ["operators", "suites"]),
    (["cache", "infos"], ["assay cache: expected info or clear"]),
    (["list", "operatrs"], ["assay list: expected operators"]),
    (["list"], ["operators, backends, suites or devices"]),
    (["list", "operatrs"], ["operatrs", "operators"]),
    (["list", "operators", "--jsn"], ["--jsn", "--json"]),
    (["doctor", "--quik"], ["--quik", "--quick"]),
    (["utilization"], ["trace"]),
    (["utilization", "--by-operatr", "x"], ["--by-operatr", "--by-operator"]),
]


class Usage(Case):
    def test_help(self):
        general = self.run_assay("--help").stdout
        self.assertEqual(self.run_assay("help").stdout, general)
        for verb in ("operators", "utilization", "compile", "cache", "list", "doctor", "help", "version"):
            with self.subTest(verb=verb):
                self.assertIn(verb, general)
                done = self.run_assay(verb, "--help")
                self.assertIn(f"usage: assay {verb}", done.stdout)
                self.assertIn("examples:", done.stdout)
                self.assertEqual(done.stderr, "")
                for words in (["help", verb], ["--help", verb], ["-h", verb]):
                    self.assertEqual(self.run_assay(*words).stdout, done.stdout)

    def test_help_fits_a_terminal(self):
        for words in ([], ["operators"], ["compile"], ["cache"], ["list"], ["doctor"], ["help"], ["version"]):
            with self.subTest(words=words):
                long = [line for line in self.run_assay("help", *words).stdout.splitlines() if len(line) > 80]
                self.assertEqual(long, [])

    def test_version(self):
        for words in (["--version"], ["-V"], ["version"]):
            self.assertRegex(self.run_assay(*words).stdout, r"^assay \d+\.\d+\.\d+\n$")
        self.assertIn("did you mean 'version'?", self.run_assay("verson", code=2).stderr)

    def test_sizes(self):
        """In large and small letters, of both kinds; the repro says the bytes."""
        for size, n in (("64MiB", 64 << 20), ("64mib", 64 << 20), ("70mb", 70000000), ("70m", 70000000), ("1gb", 1000000000), ("0.5g", 500000000),
                        ("99999K", 99999000), ("80000kib", 80000 << 10)):
            with self.subTest(size=size):
                done = self.run_assay("operators", "--suite", "embedded", "--op", "neg", "--max-samples", "1", "--repeats", "0", "--jsonl", "-",
                                      "--max-memory", size, "--sample-timeout", "30").stdout
                self.assertIn(f"--max-memory {n} --sample-timeout 30", json.loads(done.splitlines()[0])["repro"])

    def test_full_disk(self):
        """What nobody can read has not been said."""
        for words in (["--help"], ["--version"], ["operators", "--help"], ["list", "operators"], ["list", "devices"], ["cache", "info"],
                      ["operators", "--suite", "embedded", "--op", "aten.relu.default", "--dry-run"],
                      ["compile", "aten.relu.default", "((T([8], f32),), {})"]):
            with self.subTest(words=words), open("/dev/full", "wb") as full:
                done = subprocess.run([ASSAY, *words], stdout=full, stderr=subprocess.PIPE, cwd=self.folder, timeout=120)
                self.assertEqual(done.returncode, 1)
                self.assertIn("standard output cannot be written", done.stderr.decode())

    def test_closed_output(self):
        for words in (["--help"], ["version"], ["list", "operators"], ["doctor", "--quick"], ["cache", "info"],
                      ["operators", "--suite", "embedded", "--op", "aten.relu.default", "--csv", "-", *QUICK],
                      ["compile", "aten.relu.default", "((T([8], f32),), {})"]):
            for closed in ((1,), (0, 1), (0, 1, 2)):
                with self.subTest(words=words, closed=closed):
                    done = subprocess.run([ASSAY, *words], stderr=subprocess.PIPE, cwd=self.folder, timeout=120,
                                          preexec_fn=lambda: [os.close(fd) for fd in closed])
                    self.assertEqual(done.returncode, 1)
                    if 2 not in closed:
                        self.assertRegex(done.stderr.decode(), "standard output cannot be written|Bad file descriptor")

    def test_mistakes(self):
        for arguments, expected in MISTAKES:
            with self.subTest(arguments=arguments):
                done = self.run_assay(*arguments, code=2)
                self.assertEqual(done.stdout, "")
                self.assertTrue(done.stderr.startswith("assay"), done.stderr)
                for word in expected:
                    self.assertIn(word, done.stderr)

    def test_where_inputs_are(self):
        graph = "graph g: one\n%x = input(T([2], f32))\n%y = relu(%x)\nreturn %y\n"
        done = self.run_assay("operators", "--inputs", "-", stdin=graph.encode(), code=2)
        self.assertIn("graphs come from files *.graph\n", done.stderr)
        for i in range(6):
            os.makedirs(self.path(f"all/part{i}"))
            if i > 0:
                self.write(f"all/part{i}/a.txt", "")
        done = self.run_assay("operators", "--inputs", "all", code=2)
        self.assertIn("got none; there are some in its folders part1, part2, part3, part4 and 1 more\n", done.stderr)
        done = self.run_assay("operators", "--inputs", "all/part0", code=2)
        self.assertTrue(done.stderr.endswith("got none\n"), done.stderr)

    def test_said_twice(self):
        """The same value twice is said once; options that list may be repeated, and '--' ends the options."""
        relu = ["operators", "--suite", "embedded", "--dry-run", "--op", "relu"]
        once = self.run_assay(*relu, "--dtype", "f32", "--quiet").stdout
        self.assertEqual(self.run_assay(*relu, "--dtype", "f32", "--dtype=f32", "--quiet", "--quiet").stdout, once)
        self.assertIn("aten.add.Tensor", self.run_assay(*relu, "--op", "add.Tensor").stdout)

    def test_names(self):
        """An operator is named in whole, without its namespace, or without its overload, which stands for all of them."""
        def chosen(glob):
            return self.run_assay("operators", "--suite", "embedded", "--op", glob, "--dry-run").stdout
        self.assertEqual(chosen("relu"), chosen("aten.relu.default"))
        self.assertEqual(chosen("aten.relu"), chosen("relu.default"))
        adds = {line.split("[")[0] for line in chosen("add").splitlines()[:-1]}
        self.assertTrue(adds and all(name.startswith("aten.add.") for name in adds), adds)

    def test_lists(self):
        for what in ("operators", "backends", "suites", "devices"):
            with self.subTest(what=what):
                self.assertNotIn("\x1b", self.run_assay("list", what).stdout)
                rows = json.loads(self.run_assay("list", what, "--json").stdout)
                self.assertTrue(rows and all("name" in row for row in rows))

    def test_coverage_is_of_one_type(self):
        for row in json.loads(self.run_assay("list", "operators", "--json").stdout):
            self.assertEqual({type(row[b]) for b in ("reference", "eager", "compiled")}, {bool}, row)
            self.assertEqual([b for b in ("reference", "eager", "compiled") if not row[b]], list(row["reasons"]))
            self.assertTrue(all(row["reasons"].values()))

    def test_lists_fit_their_terminal(self):
        for width in (60, 80, 100, 133):
            with self.subTest(width=width):
                lines = self.run_assay("list", "operators", env={"COLUMNS": str(width)}).stdout.splitlines()
                self.assertTrue(all(len(line) <= width for line in lines if "too narrow" not in line))
                self.assertNotIn("\u2026", "".join(lines) if width > 80 else "")
        narrow = self.run_assay("list", "operators", env={"COLUMNS": "80"}).stdout
        self.assertRegex(narrow, "\nadd.Scalar  .*  self \\+ alpha \\* other, a\n {50,}number.\n")
        self.assertIn("The terminal is too narrow for: kind; --json has all.\n", narrow)

    def test_a_built_in_backend_is_listed_once(self):
        once = self.run_assay("list", "operators", "--json").stdout
        self.assertEqual(self.run_assay("list", "operators", "--json", "--backend", "eager", "--backend", "compiled").stdout, once)
        rows = json.loads(once, object_pairs_hook=lambda pairs: [key for key, _ in pairs])
        self.assertEqual([len(set(keys)) for keys in rows], [len(keys) for keys in rows])
        twice = ["--backend", EXAMPLE, "--backend", EXAMPLE]
        self.assertIn("two backends call themselves 'example'", self.run_assay("list", "operators", *twice, code=2).stderr)

    def test_instruction_set(self):
        """Fewer instructions may be asked for, by a name that this processor knows."""
        wrong = self.run_assay("list", "devices", code=2, env={"ASSAY_ISA": "baselin"}).stderr
        for word in ("ASSAY_ISA", "'baselin'", "avx2", "did you mean 'baseline'?"):
            self.assertIn(word, wrong)
        asked = {"ASSAY_ISA": "baseline"}
        self.assertRegex(self.run_assay("doctor", "--quick", env=asked).stdout, "kernels built for +baseline")
        done = self.run_assay("operators", "--suite", "embedded", "--op", "mm", "--op", "_softmax", "--max-samples", "1", "--backend", "eager",
                              "--backend", "compiled", "--repeats", "1", "--min-time", "0", "--jsonl", "-", env=asked).stdout
        records = [json.loads(line) for line in done.splitlines()]
        points = [record for record in records if "input" in record]
        self.assertEqual(len(points), 4)
        for point in points:
            self.assertEqual((point["status"], point["machine"]["isa_used"]), ("ok", "baseline"))
            better = "avx2" in point["machine"]["isa"]
            self.assertEqual(point["repro"].startswith("ASSAY_ISA=baseline assay "), better)

    def test_threads_are_those_there_are(self):
        """A number beyond what OpenMP gives would be recorded and not run."""
        one = {"OMP_THREAD_LIMIT": "1"}
        wrong = self.run_assay("operators", "--suite", "embedded", "--threads", "2", code=2, env=one).stderr
        self.assertIn("--threads: expected at most 1, which is what OpenMP gives this process", wrong)
        self.assertIn("--threads: expected at most 1", self.run_assay("utilization", "--run", "relu", "x", "--threads", "2", code=2,
                                                                      env=one).stderr)
        for env, threads in ((one, 1), ({"OMP_MAX_ACTIVE_LEVELS": "0"}, 1), ({"OMP_DYNAMIC": "true"}, None)):
            out = self.run_assay("operators", "--suite", "embedded", "--op", "mm", "--max-samples", "1", "--repeats", "1", "--min-time", "0",
                                 "--jsonl", "-", env=env).stdout
            record = next(r for r in map(json.loads, out.splitlines()) if r["kind"] == "operator")
            self.assertEqual(record["status"], "ok", record["reason"])
            self.assertEqual(record["threads"], threads or record["machine"]["usable_cpus"])

    def test_stacks_that_are_too_small_are_refused(self):
        """Kernels would end the process without a word, or each row of a worker's."""
        wrong = self.run_assay("operators", "--suite", "embedded", code=2, env={"OMP_STACKSIZE": " 64 k"}).stderr
        for word in ("OMP_STACKSIZE= 64 k", "256 KiB", "unset it"):
            self.assertIn(word, wrong)
        few = 128 << 10
        limited = subprocess.run([ASSAY, "list", "devices"], capture_output=True, timeout=60,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (few, resource.RLIM_INFINITY)))
        self.assertEqual(limited.returncode, 2)
        for word in (b"at least 256 KiB", b"128 KiB", b"ulimit -s 8192"):
            self.assertIn(word, limited.stderr)
        for enough in ("256k", "300", "1 M", "junk", "300x", ""):
            done = self.run_assay("operators", "--suite", "embedded", "--op", "sum.dim_IntList", "--max-samples", "1", "--repeats", "1",
                                  "--min-time", "0", "--backend", "eager", "--backend", "compiled", "--quiet", env={"OMP_STACKSIZE": enough})
            self.assertNotIn("assay:", done.stderr)

    def test_doctor(self):
        done = self.run_assay("doctor", "--quick")
        for row in ("CPU", "memory", "suite embedded", "backend eager"):
            self.assertIn(row, done.stdout)
        self.assertNotIn("\x1b", done.stdout)

    def test_missing_suites_are_told_briefly(self):
        """With the advice once; what JSON says of each is whole."""
        env = {"ASSAY_SUITES": "no/such/folder"}
        rows = json.loads(self.run_assay("list", "suites", "--json", env=env).stdout)
        missing = [row["name"] for row in rows if not row["found"]]
        self.assertIn("timm", missing)
        self.assertTrue(all("was not found: looked for a folder" in row["reason"] for row in rows if not row["found"]))
        for words in (["list", "suites"], ["doctor", "--quick"]):
            told = self.run_assay(*words, env=env).stdout
            for name in missing:
                self.assertRegex(told, rf"(?m)^(suite )?{name} .* not found *$")
            self.assertEqual(told.count("set ASSAY_SUITES to the folder that holds them"), 1)

    def test_doctor_tells_of_the_compiler(self):
        missing = self.run_assay("doctor", "--quick", env={"ASSAY_CC": "nosuchcc"}).stdout
        self.assertRegex(missing, "compiler nosuchcc +not found, and the backend compiled needs it: name another one in ASSAY_CC")
        self.assertNotIn("used by", missing)
        for env in ({"ASSAY_CC": ""}, {"ASSAY_CC": "gcc"}):
            told = self.run_assay("doctor", "--quick", env=env).stdout
            self.assertEqual(told.count("used by the backend compiled"), 1)
            self.assertEqual(told.count("as ASSAY_CC asks"), env["ASSAY_CC"] != "")


if __name__ == "__main__":
    main()
