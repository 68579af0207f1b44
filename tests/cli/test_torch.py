# SPDX-License-Identifier: Apache-2.0
"""A PyTorch that is not there or is broken: one clear message, for every verb that looks for one. Pythons and compilers here
are fakes; what else can be wrong with them is in tests/lab/test_torch_plugin.c."""
import os
import signal
import subprocess
import time

from cli_case import ASSAY, RELU, Case, main

PROBE = """echo '{"python": "fake", "version": "VERSION", "directory": "DIRECTORY/torch", "git": "abc"}'"""
FILES = ["include/ATen/ATen.h", "lib/libtorch_cpu.so", "lib/libc10.so"]


class Torch(Case):
    def setUp(self):
        super().setUp()
        self.inputs = self.write("model.txt", RELU)
        self.program("python", "echo '{\"python\": \"fake\"}'")
        self.program("cxx", "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && echo junk >\"$2\"; shift; done; exit 0")
        self.env = {"ASSAY_TORCH_PYTHON": self.path("python"), "ASSAY_CXX": self.path("cxx"), "XDG_CACHE_HOME": self.folder}

    def program(self, name, script):
        self.write(name, f"#!/bin/sh\n{script}\n")
        os.chmod(self.path(name), 0o755)

    def torch(self, version, files=FILES):
        self.program("python", PROBE.replace("VERSION", version).replace("DIRECTORY", self.folder))
        for name in files:
            os.makedirs(os.path.dirname(self.path("torch/" + name)), exist_ok=True)
            self.write("torch/" + name, "no library")

    def refused(self, *words, backend="torch", code=2):
        done = self.operators("--inputs", self.inputs, "--backend", backend, "--baseline", backend, code=code, env=self.env)
        self.assertEqual(done.stdout, "")
        message = done.stderr.splitlines()[-1]
        for word in words:
            self.assertIn(word, message)

    def listed(self, *words):
        """What the verbs that only look say, without an error."""
        for arguments in (["list", "backends"], ["doctor", "--quick"]):
            done = self.run_assay(*arguments, env=self.env)
            for word in words:
                self.assertIn(word, done.stdout)

    def test_no_python(self):
        self.env["ASSAY_TORCH_PYTHON"] = self.path("nowhere")
        for backend in ("torch", "inductor", "inductor:max-autotune"):
            self.refused(f"backend '{backend}'", "no Python at", "pip install torch", backend=backend)
        self.listed("no Python at")

    def test_python_that_says_nothing(self):
        for script, words in (("exit 3", "failed (exit 3) without a word"), ("kill -9 $$", "failed (signal 9) without a word"),
                              ("echo 'no such module' >&2; exit 1", "failed (exit 1): no such module")):
            with self.subTest(script=script):
                self.program("python", script)
                self.refused(words)
                self.listed("was asked for its")

    def test_python_that_hangs(self):
        """One word about it while it is waited for, and not once for each of the two backends."""
        self.program("python", f"echo x >>'{self.path('calls')}'; exec sleep 1000")
        done = self.run_assay("doctor", "--quick", env=self.env)
        self.assertEqual(done.stderr, f"assay: waiting for '{self.path('python')}' to say whether it has a PyTorch, for 10 s at most\n")
        self.assertEqual(done.stdout.count("did not"), 2, done.stdout)
        with open(self.path("calls")) as f:
            self.assertEqual(f.read(), "x\nx\n")

    def test_no_torch(self):
        self.refused("has no PyTorch; get one with", "--torch-python")
        self.listed("has no PyTorch")

    def test_option_goes_before_the_environment(self):
        self.program("other", "echo '{\"python\": \"other\"}'")
        done = self.operators("--inputs", self.inputs, "--backend", "torch", "--baseline", "torch", "--torch-python",
                              self.path("other"), code=2, env=self.env)
        self.assertIn(self.path("other"), done.stderr)

    def test_utilization_takes_the_option(self):
        self.program("other", "echo '{\"python\": \"other\"}'")
        words = ["utilization", "--run", "relu", "((T([4, 5], f32),), {})", "--backend", "torch"]
        done = self.run_assay(*words, "--torch-python", self.path("other"), code=2, env=self.env)
        self.assertIn(f"'{self.path('other')}' has no PyTorch", done.stderr)
        done = self.run_assay("utilization", "trace.json", "--torch-python", "python3", code=2, env=self.env)
        self.assertIn("--torch-python and --trace-folder go with --run", done.stderr)

    def test_no_cxx(self):
        self.torch("2.15.0")
        self.env["ASSAY_CXX"] = self.path("nowhere")
        self.env["COLUMNS"] = "1000"
        shown = self.run_assay("doctor", "--quick", env=self.env).stdout
        self.assertNotIn("will be built", shown)
        words = " ".join(shown.split())
        self.assertIn(f"compiler {self.path('nowhere')} not found", words)
        self.assertEqual(words.count("apt-get install g++, or name another one in ASSAY_CXX"), 3)
        self.assertIn(f"0 entries, 0 B of at most 256 MiB, in {self.folder}/assay/compiled", words)

    def test_interrupted_build(self):
        """Neither the compiler nor what it has written is left."""
        self.torch("2.15.0")
        self.program("cxx", "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && echo half >\"$2\"; shift; done; "
                            f"echo $$ >'{self.path('pid.new')}'; mv '{self.path('pid.new')}' '{self.path('pid')}'; exec sleep 60")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                run = subprocess.Popen([ASSAY, "operators", "--inputs", self.inputs, "--backend", "torch"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, cwd=self.folder, env={**os.environ, **self.env})
                deadline = time.monotonic() + 60
                while not os.path.exists(self.path("pid")):
                    self.assertLess(time.monotonic(), deadline, "nothing is built")
                    time.sleep(0.02)
                with open(self.path("pid")) as f:
                    compiler = int(f.read())
                os.kill(run.pid, number)
                self.assertEqual(run.wait(60), -number)
                self.assertFalse(os.path.exists(f"/proc/{compiler}"), "the compiler goes on")
                left = [n for _, _, names in os.walk(self.path("assay")) for n in names if ".so" in n]
                self.assertEqual(left, [])
                os.remove(self.path("pid"))

    def test_too_old(self):
        self.torch("2.10.1")
        self.refused("PyTorch 2.10.1", "too old: 2.11 is the first that works")
        self.listed("too old")

    def test_no_headers(self):
        self.torch("2.15.0", FILES[1:])
        self.refused("PyTorch 2.15.0 lacks its headers", "include/ATen/ATen.h")
        self.listed("lacks its headers")

    def test_no_library(self):
        self.torch("2.15.0", FILES[:2])
        self.refused("lacks its library", "lib/libc10.so")

    def test_broken_library(self):
        self.torch("2.15.0")
        self.listed("PyTorch 2.15.0", "will be built on first use")
        self.refused("plug-in cannot be opened", "assay-torch.so")
        self.listed("is built")

    def test_broken_compiler(self):
        self.torch("2.15.0")
        self.program("cxx", "echo 'ATen.h:1: error: broken' >&2; exit 1")
        self.refused("does not build: ATen.h:1: error: broken", "build.log")
        self.env["ASSAY_CXX"] = self.path("nowhere")
        self.refused("needs a C++ compiler", "apt-get install g++")


if __name__ == "__main__":
    main()
