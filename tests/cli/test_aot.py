# SPDX-License-Identifier: Apache-2.0
"""Inductor's packages without a PyTorch: what names them besides their requests, and how plugins/torch/aot.py puts them in place."""
import json
import os
import subprocess
import sys
import unittest
import zipfile

from cli_case import SANITIZER, SOURCE, Case, main, plugin

# As much of a PyTorch as aot.py touches. The compiler writes a package, or fails having written half of one; `during` is run meanwhile.
TORCH = {
    "__init__.py": """
import contextlib
from . import _inductor, export, nn
from types import SimpleNamespace as names
__version__ = "fake"
float32 = "float32"
Tag = names(inplace_view="inplace_view")
ops = names(aten=names(add=names(Tensor=names(tags=[], _schema=names(arguments=[])))))
no_grad = contextlib.nullcontext
def set_num_threads(n): pass
class Empty:
    def zero_(self): return self
def empty_strided(sizes, strides, dtype): return Empty()
""",
    "nn.py": "class Module:\n    pass\n",
    "export.py": "def export(program, tensors, strict): return program\n",
    "_inductor/__init__.py": """
import os, zipfile
from . import config
def aoti_compile_and_package(exported, package_path, inductor_configs):
    with open(package_path, "wb") as f:
        f.write(b"half")
    exec(os.environ.get("DURING", ""), {"path": package_path})
    with zipfile.ZipFile(package_path, "w") as archive:
        archive.writestr("model.cpp", "cpp_fused_add_0(x)")
""",
    "_inductor/config.py": "def get_config_copy(): return {}\n",
}
REQUEST = {"calls": [{"op": "add", "overload": "Tensor", "arguments": []}], "outputs": None,
           "tensors": [{"dtype": "float32", "sizes": [2], "strides": [1]}]}


class Packages(Case):
    def setUp(self):
        super().setUp()
        for name, text in TORCH.items():
            os.makedirs(os.path.dirname(self.path("python/torch/" + name)), exist_ok=True)
            self.write("python/torch/" + name, text)
        self.package = self.path("packages/one.pt2")

    def start(self, during=""):
        env = {**os.environ, "PYTHONPATH": self.path("python"), "DURING": during}
        return subprocess.Popen([sys.executable, "-B", os.path.join(SOURCE, "plugins/torch/aot.py")], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)

    def ask(self, process):
        out, errors = process.communicate(json.dumps({**REQUEST, "package": self.package}) + "\n", timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        return out.strip()

    def check_whole(self):
        self.assertEqual(sorted(os.listdir(self.path("packages"))), ["one.pt2", "one.pt2.fallback"])
        with zipfile.ZipFile(self.package) as archive:
            self.assertEqual(archive.namelist(), ["model.cpp"])
        with open(self.package + ".fallback") as f:
            self.assertEqual(f.read(), "0")

    def test_whole_or_not_at_all(self):
        self.assertIn("failed RuntimeError: no", self.ask(self.start("raise RuntimeError('no')")))
        self.assertEqual(os.listdir(self.path("packages")), [])
        self.assertEqual(self.ask(self.start()), "ok 0")
        self.check_whole()

    def test_two_at_once(self):
        """Each waits until both are at it: neither takes the other's files away."""
        os.mkdir(self.path("marks"))
        during = f"""
import os, time
folder = {self.path("marks")!r}
open(os.path.join(folder, str(os.getpid())), "w").close()
until = time.monotonic() + 50
while len(os.listdir(folder)) < 2 and time.monotonic() < until:
    time.sleep(0.01)
"""
        both = [self.start(during) for _ in range(2)]
        for process in both:
            process.stdin.write(json.dumps({**REQUEST, "package": self.package}) + "\n")
            process.stdin.flush()
        for process in both:
            out, errors = process.communicate(timeout=60)
            self.assertEqual((out.strip(), process.returncode), ("ok 0", 0), errors)
        self.check_whole()

    def test_leftovers_go(self):
        """What a helper that was killed has left, a day later."""
        old, new = (self.path(f"packages/unfinished-{name}") for name in ("old", "new"))
        for folder in (old, new):
            os.makedirs(folder)
            self.write(folder + "/made.pt2", "half")
        os.utime(old, (1, 1))
        self.assertEqual(self.ask(self.start()), "ok 0")
        self.assertFalse(os.path.exists(old))
        self.assertTrue(os.path.exists(new))


@unittest.skipIf(SANITIZER, "a sanitizer's library would have to be loaded first")
@unittest.skipUnless(os.path.exists(plugin("circumstances")), "no C++ compiler was found when the tests were built")
class Circumstances(Case):
    def text(self, **env):
        """In a process of its own, with these variables alone."""
        code = "import ctypes, sys; f = ctypes.CDLL(sys.argv[1]).circumstances_text; f.restype = ctypes.c_char_p; print(f().decode())"
        done = subprocess.run([sys.executable, "-c", code, plugin("circumstances")], capture_output=True, text=True, env=env, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_what_counts(self):
        plain = self.text()
        self.assertEqual(plain, self.text(TORCH="1", HOME="/nowhere"))
        self.assertIn("CXX=\n", plain)
        self.assertNotIn("MHz", plain)
        with open("/proc/cpuinfo") as f:
            words = [line for line in f.read().split("\n\n")[0].split("\n") if line.startswith(("flags", "Features"))]
        for line in words:
            self.assertIn(line, plain)
        others = [self.text(CXX="clang++"), self.text(TORCHINDUCTOR_FREEZING="1"), self.text(TORCHINDUCTOR_FREEZING="0")]
        self.assertEqual(len({plain, *others}), 4)
        self.assertIn("\nTORCHINDUCTOR_A=2\nTORCHINDUCTOR_B=1\n", self.text(TORCHINDUCTOR_B="1", TORCHINDUCTOR_A="2"))


if __name__ == "__main__":
    main()
