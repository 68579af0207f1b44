# SPDX-License-Identifier: Apache-2.0
"""The compiled backend as a user meets it: what is wrong with the compiler, the cache or the disk is told, and the run goes
on; `assay compile` and `assay cache`."""
import gzip
import os
import resource
import signal
import subprocess
import time

from cli_case import ASSAY, QUICK, RELU, SANITIZER, SOURCE, Case, main, records_of

GRAPH = os.path.join(SOURCE, "suites", "graphs", "bias_gelu.graph")
ROOT = os.geteuid() == 0

# `assay` arguments, words of the one sentence that answers
MISTAKES = [
    (["compile"], ["OPERATOR INPUT", "FILE.graph"]),
    (["compile", "--dump", "kernel", GRAPH], ["kernel", "kernels"]),
    (["compile", "--dmp", "c", GRAPH], ["--dmp", "--dump"]),
    (["compile", "--dtype", "f33", GRAPH], ["f33", "f32"]),
    (["compile", "aten.relu", "((T([4], f32),), {})", "more"], ["more"]),
    (["compile", "aten.rleu.default", "((T([4], f32),), {})"], ["aten.rleu.default", "relu"]),
    (["compile", "aten.relu.default", "((T([4, f32),), {})"], ["expected"]),
    (["compile", "nowhere.graph"], ["nowhere.graph"]),
    (["compile", "nowhere.graph.gz"], ["nowhere.graph.gz", "No such file"]),
    (["compile", "--op", "relu", GRAPH], [GRAPH, "a graph, which stands alone"]),
    (["compile", GRAPH, GRAPH], ["a graph, which stands alone"]),
    (["compile", os.path.dirname(GRAPH)], ["suites/graphs': a folder"]),
    (["compile", "--op", "relu", os.path.dirname(GRAPH)], ["suites/graphs': a folder"]),
    (["compile", __file__], ["test_compile.py': a file"]),
    (["compile", "--op", "relu", "relu", "((T([4], f32),), {})"], ["--op relu and 'relu' besides"]),
    (["compile", "--dump", "text", "--no-fusion", GRAPH], ["--no-fusion does not go with --dump text"]),
    (["cache", "infos"], ["infos", "info"]),
    (["cache", "info", "clear"], ["clear"]),
    (["operators", "--suite", "embedded", "--backend", "compiled:nosuch"], ["compiled:nosuch", "compiled:autotune", "compiled:nofuse"]),
    (["operators", "--suite", "embedded", "--backend", "compiled:"], ["compiled:autotune"]),
    (["operators", "--suite", "embedded", "--backend", "compild"], ["compild", "compiled"]),
]

ALIASES = [
    """graph alias0: Views of a value that is written later.
%x = input(T([4, 6], f32))
%y = mul.Tensor(%x, 2)
%v = slice.Tensor(%y, 1, 1, 4)
%w = add_.Tensor(%y, %x)
%z = sum(%v)
%r = relu_(%v)
%q = add.Tensor(%y, 1)
return %z, %q, %v, %w, %r
""",
    """graph alias1: An input that is written through a view and read as a whole.
%x = input(T([4, 6], f32))
%v = select.int(%x, 0, 2)
%t = t(%x)
%w = mul_.Tensor(%v, 3)
%z = add.Tensor(%t, 1)
%u = neg_(%x)
%s = sum.dim_IntList(%v, [0])
return %z, %s, %u, %w
""",
    """graph alias2: Two inputs change places.
%a = input(T([20], f32))
%b = input(T([20], f32))
%t = clone(%a)
%c = copy_(%a, %b)
%d = copy_(%b, %t)
return %c, %d
""",
    """graph alias3: An input that is turned round where it lies.
%x = input(T([21], f32))
%f = flip(%x, [0])
%c = copy_(%x, %f)
return %c
""",
    """graph alias4: A matrix that is transposed where it lies.
%x = input(T([6, 6], f32))
%t = t(%x)
%k = clone(%t)
%c = copy_(%x, %k)
return %c
""",
    """graph alias5: Running statistics under another name.
%x = input(T([4, 8, 5], f32))
%mean = input(T([8], f32))
%var = input(T([8], f32), low=0.5, high=1)
%v = alias(%mean)
%y, _, _ = native_batch_norm(%x, None, None, %mean, %var, True, 0.1, 1e-05)
%z = neg(%v)
%s = add.Tensor(%mean, %var)
return %y, %z, %s
""",
    """graph alias6: Running statistics that inference reads and leaves alone.
%x = input(T([4, 8, 5], f32))
%mean = input(T([8], f32))
%var = input(T([8], f32), low=0.5, high=1)
%v = alias(%mean)
%y, _, _ = native_batch_norm(%x, None, None, %mean, %var, False, 0.1, 1e-05)
%z = neg(%v)
return %y, %z
""",
]

# Kernels in parts must see that another part's rows are read.
NEIGHBOURS = [
    """graph shift0: Rows are added to those that follow.
%x = input(T([64, 32], f32))
%w = input(T([64, 32], f32))
%y = _softmax(%x, 1, False)
%z = constant_pad_nd(%y, [0, 0, 1, -1], 0.0)
%s = add.Tensor(%z, %w)
%o = _softmax(%s, 1, False)
return %o
""",
    """graph shift1: Tokens less those before.
%x = input(T([64, 48], f32))
%y, _, _ = native_layer_norm(%x, [48], None, None, 1e-05)
%p = constant_pad_nd(%y, [0, 0, 1, -1], 0.0)
%s = sub.Tensor(%y, %p)
%o = _softmax(%s, 1, False)
return %o
""",
    """graph shift2: Tokens less those behind.
%x = input(T([64, 48], f32))
%y, _, _ = native_layer_norm(%x, [48], None, None, 1e-05)
%p = constant_pad_nd(%y, [0, 0, -1, 1], 0.0)
%s = sub.Tensor(%y, %p)
%o = _softmax(%s, 1, False)
return %o
""",
]


TUNED = [
    """graph tuned0: Clamped in place, then gathered by.
%i = input(T([16], i64), low=-40, high=90)
%x = input(T([10, 400], f32))
%w = input(T([400, 8], f32))
%c = clamp_(%i, 0, 9)
%y = index_select(%x, 0, %c)
%z = mm(%y, %w)
return %z
""",
    """graph tuned1: Counts become indices.
%i = input(T([16], i64), low=0, high=4)
%o = input(T([16], i64), low=1, high=2)
%x = input(T([17, 40], f32))
%n = new_zeros(%i, [4])
%c = scatter_add(%n, 0, %i, %o)
%y = index_select(%x, 0, %c)
return %y
""",
]


# A compiler that says who it is and is not ready soon.
SLOW = 'case $1 in --version) exit;; esac\n: > "$TMPDIR/begun.s"\nexec sleep 20\n'


class Compile(Case):
    def setUp(self):
        super().setUp()
        self.inputs = self.write("model.txt", RELU)
        self.env = {"XDG_CACHE_HOME": self.path("cache"), "ASSAY_CC": "cc"}

    def script(self, name, text):
        path = self.write(name, "#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path

    def both(self, code=0, **env):
        """Both inputs on eager, which must be well whatever becomes of the others, and on compiled, which are answered."""
        records = self.records("--inputs", self.inputs, "--backend", "compiled", "--backend", "eager", code=code,
                               env={**self.env, **env})
        eager = [r for r in records if r["backend"] == "eager"]
        self.assertEqual([(r["sample_index"], r["status"]) for r in eager], [(0, "ok"), (1, "ok")])
        mine = [r for r in records if r["backend"] == "compiled"]
        self.assertEqual(len(mine), 2)
        return mine

    def check_well(self, records, word=None):
        for r in records:
            self.assertEqual(r["status"], "ok", r)
            self.assertFalse(r["fallback"])
            if word is not None:
                self.assertIn(word, r["note"] or "")

    def entries(self, folder="cache"):
        return sorted(os.path.join(f, n) for f, _, names in os.walk(self.path(folder)) for n in names)

    # --- the compiler ----------------------------------------------------------------------------------------------------

    def test_calls_are_shown(self):
        """Where no kernel is emitted, what runs instead is."""
        for words, shown in ((["mm", "((T([8, 4], f32), T([4, 2], f32)), {})"], "mm.default of the library"),
                             (["nonzero", "((T([8], f32),), {})"], "nonzero.default, the eager kernel (fallback): the shape hangs on the values"),
                             (["t", "((T([8, 4], f32),), {})"], "Nothing is to be computed")):
            with self.subTest(words=words):
                self.assertIn(shown, self.run_assay("compile", *words).stdout)
                self.assertTrue(self.run_assay("compile", "--dump", "graph", *words).stdout)

    def test_text_reads_back(self):
        """--dump text of a graph is its file less the comments; of an operator's input a graph of one call."""
        folder = os.path.dirname(GRAPH)
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name)) as f:
                text = "".join(line for line in f if not line.startswith("#"))
            self.assertEqual(self.run_assay("compile", "--dump", "text", os.path.join(folder, name)).stdout, text)
            self.write(name + ".gz", gzip.compress(text.encode()))
        self.assertEqual(self.run_assay("compile", "--dump", "text", name + ".gz").stdout, text)
        self.assertEqual(self.run_assay("compile", name + ".gz").stdout, self.run_assay("compile", os.path.join(folder, name)).stdout)
        for words in (["cat", "(([T([4, 4], f32, stride=(1, 4)), T([3, 4], f32)],), {})"], ["add_.Tensor", "((T([4], f32), 2), {'alpha': 3})"],
                      ["native_layer_norm", "((T([4, 8], bf16), [8], None, None, 1e-05), {})"]):
            with self.subTest(words=words):
                text = self.run_assay("compile", "--dump", "text", *words).stdout
                path = self.write("one.graph", text)
                self.assertEqual(self.run_assay("compile", "--dump", "text", path).stdout, text)
                self.assertEqual(self.records("--inputs", path)[0]["status"], "ok")
        self.assertIn("f64", self.run_assay("compile", "--dump", "text", "--dtype", "f64", GRAPH).stdout)
        refused = self.run_assay("compile", "--dump", "text", "nonzero", "((T([8], f32),), {})", code=1)
        self.assertIn("a graph's text cannot say this: nonzero", refused.stderr)

    def test_no_compiler(self):
        for r in self.both(code=1, ASSAY_CC="/nonexistent"):
            self.assertEqual(r["status"], "failed")
            for word in ("/nonexistent", "C compiler", "ASSAY_CC"):
                self.assertIn(word, r["reason"])

    def test_compiler_fails(self):
        for r in self.both(code=1, ASSAY_CC=self.script("cc1", "echo broken today >&2\nexit 1\n")):
            self.assertEqual(r["status"], "failed")
            for word in ("cc1", "exit 1", "broken today", "ASSAY_CC"):
                self.assertIn(word, r["reason"])
            self.assertTrue(r["reason"].endswith("it said: broken today"), r["reason"])

    def test_compiler_is_killed(self):
        for r in self.both(code=1, ASSAY_CC=self.script("cc2", "kill -9 $$\n")):
            self.assertEqual(r["status"], "failed")
            self.assertIn("signal 9", r["reason"])
            self.assertTrue(r["reason"].endswith("it said nothing"), r["reason"])

    def test_compiler_writes_nothing(self):
        for r in self.both(code=1, ASSAY_CC=self.script("cc3", "exit 0\n")):
            self.assertEqual(r["status"], "failed")
            self.assertIn("cc3' ended well but wrote no file: name another compiler in ASSAY_CC", r["reason"])

    def test_compiler_writes_junk(self):
        """What cannot be loaded is not kept, where it would be found again and again."""
        junk = self.script("cc6", 'while [ "$1" != -o ]; do shift; done\necho junk >"$2"\n')
        for r in self.both(code=1, ASSAY_CC=junk):
            self.assertEqual(r["status"], "failed")
            for word in ("cc6' ended well", "cannot load compiled code", "name another compiler in ASSAY_CC"):
                self.assertIn(word, r["reason"])
        self.assertEqual(self.entries(), [])

    def test_compiler_with_arguments(self):
        for words in ("cc -O1", "ccache gcc"):
            for r in self.both(code=1, ASSAY_CC=words):
                self.assertIn(f"found no '{words}': ASSAY_CC names one program, without arguments", r["reason"])

    def test_compiler_behind_a_script(self):
        """The script stays the same: what it hands the work to says who it is."""
        compiler = self.script("wrap", 'exec "${REAL:-cc}" "$@"\n')
        self.check_well(self.both(ASSAY_CC=compiler))
        kept = self.entries()
        self.check_well(self.both(ASSAY_CC=compiler))
        self.assertEqual(self.entries(), kept)
        other = self.script("other", 'case $1 in --version) echo "other 1.0";; *) exec cc "$@";; esac\n')
        self.check_well(self.both(ASSAY_CC=compiler, REAL=other))
        self.assertEqual(len(self.entries()), 2 * len(kept))

    # --- where it works --------------------------------------------------------------------------------------------------

    def mounted(self, folder, options):
        """Words before a command that has a file system of its own there."""
        os.makedirs(self.path(folder), exist_ok=True)
        mount = ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o {options} none "$0" && exec "$@"', self.path(folder)]
        try:
            subprocess.run([*mount, "true"], check=True, capture_output=True, timeout=60)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("nothing may be mounted here")
        return mount

    def run_mounted(self, mount, **env):
        run = subprocess.run([*mount, ASSAY, "operators", *QUICK, "--inputs", self.inputs, "--backend", "compiled", "--jsonl", "-"],
                             capture_output=True, cwd=self.folder, env={**os.environ, **self.env, **env}, timeout=120)
        return [r for r in records_of(run.stdout.decode()) if r["backend"] == "compiled"]

    def test_nothing_may_be_run_from_tmpdir(self):
        mount = self.mounted("tmp", "noexec")
        mine = self.run_mounted(mount, TMPDIR=self.path("tmp"))
        self.check_well(mine)  # the cache has it, and it is run from there
        self.assertEqual({r["note"] for r in mine}, {None})
        self.env["XDG_CACHE_HOME"] = "/dev/full"
        for r in self.run_mounted(mount, TMPDIR=self.path("tmp")):
            self.assertEqual(r["status"], "failed")
            for word in (self.path("tmp"), "noexec", "name another place in TMPDIR", "/dev/full"):
                self.assertIn(word, r["reason"])

    def test_tmpdir_is_full(self):
        """A compiler finds no room, and has room to say so."""
        mount = self.mounted("tmp", "size=64k")
        fills = self.script("fills", 'while [ "$1" != -o ]; do shift; done\ndd if=/dev/zero of="$2" bs=64k count=9 2>&1 >/dev/null | grep -o "No space.*" >&2\n'
                             'rm -f "$2"\nexit 1\n')
        for r in self.run_mounted(mount, TMPDIR=self.path("tmp"), ASSAY_CC=fills, LC_ALL="C"):
            self.assertEqual(r["status"], "failed")
            for word in ("the disk is full: make room in " + self.path("tmp"), "TMPDIR", "it said: No space left on device"):
                self.assertIn(word, r["reason"])

    def test_compiler_hangs(self):
        compiler = self.script("cc4", "sleep 600\n")
        records = self.records("--inputs", self.inputs, "--backend", "compiled", "--backend", "eager", "--sample-timeout",
                               "4", code=1, env={**self.env, "ASSAY_CC": compiler})
        status = {(r["backend"], r["status"]) for r in records}
        self.assertEqual(status, {("eager", "ok"), ("compiled", "timeout")})

    # --- what a build that does not end leaves ---------------------------------------------------------------------------

    def build_folders(self):
        return [n for n in os.listdir(self.path("tmp")) if n.startswith("assay-build-")]

    def start_slow_build(self, *words):
        """A run whose compiler sleeps, in a group of its own, once it has left a file where compilers have theirs; TMPDIR is the folder
        tmp."""
        os.makedirs(self.path("tmp"), exist_ok=True)
        env = {**os.environ, **self.env, "TMPDIR": self.path("tmp"), "ASSAY_CC": self.script("slow", SLOW)}
        words = words or ("operators", *QUICK, "--inputs", self.inputs, "--backend", "compiled", "--backend", "eager")
        run = subprocess.Popen([ASSAY, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder, env=env,
                               start_new_session=True)
        self.addCleanup(run.wait, 60)
        deadline = time.monotonic() + 60
        while not any("begun.s" in os.listdir(os.path.join(self.path("tmp"), f)) for f in self.build_folders()):
            self.assertLess(time.monotonic(), deadline, "nothing is built")
            time.sleep(0.02)
        return run

    def children(self, pid):
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(p) for p in f.read().split()]

    def run_with_tmp(self, *arguments, **options):
        return self.run_assay("operators", *QUICK, "--inputs", self.inputs, "--backend", "compiled", "--backend", "eager",
                              *arguments, **options, env={**self.env, "TMPDIR": self.path("tmp")})

    def test_late_build_is_tidied_up(self):
        os.mkdir(self.path("tmp"))
        self.env["ASSAY_CC"] = self.script("slow", SLOW)
        self.run_with_tmp("--sample-timeout", "4", code=1)
        self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_interrupted_build_is_tidied_up(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                run = self.start_slow_build()
                os.kill(run.pid, number)
                self.assertEqual(run.wait(60), 130)
                self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_interrupted_build_without_a_supervisor(self):
        """The compiler is in a group of its own, which no terminal reaches: who waits for it ends it, and then itself."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                run = self.start_slow_build("utilization", "--run", "relu", "((T([4, 5], f32),), {})", "--backend", "compiled")
                deadline = time.monotonic() + 60
                while not self.children(run.pid):
                    self.assertLess(time.monotonic(), deadline, "no compiler is started")
                    time.sleep(0.02)
                compiler, = self.children(run.pid)
                os.kill(run.pid, number)
                self.assertEqual(run.wait(60), -number)
                self.assertFalse(os.path.exists(f"/proc/{compiler}"), "the compiler goes on")
                self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_ignored_signal_ends_no_build(self):
        """As nohup has it."""
        compiler = self.script("cc7", 'case $1 in -*) kill -HUP $PPID;; esac\nexec cc "$@"\n')
        done = subprocess.run(["nohup", ASSAY, "utilization", "--run", "relu", "((T([4, 5], f32),), {})", "--backend", "compiled", "--n", "1"],
                              capture_output=True, cwd=self.folder, env={**os.environ, **self.env, "ASSAY_CC": compiler}, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_killed_worker_is_tidied_up_after(self):
        run = self.start_slow_build()
        old = self.build_folders()
        self.write("slow", '#!/bin/sh\nexec cc "$@"\n')
        for worker in self.children(run.pid):
            os.kill(worker, signal.SIGKILL)
        self.assertEqual(run.wait(120), 1)
        self.assertEqual(len(old), 1)
        self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_killed_run_is_tidied_up_by_the_next(self):
        run = self.start_slow_build()
        os.kill(run.pid, signal.SIGKILL)
        run.wait(60)
        self.assertEqual(len(self.build_folders()), 1)
        foreign = os.path.join(self.path("tmp"), "assay-build-notes")  # somebody's own: another name, or open to others
        shared = os.path.join(self.path("tmp"), "assay-build-abcdef")
        os.mkdir(foreign, 0o700)
        os.mkdir(shared)
        os.chmod(shared, 0o755)
        os.symlink(self.folder, os.path.join(self.path("tmp"), "assay-build-ABCDEF"))
        self.run_with_tmp()
        self.assertEqual(sorted(self.build_folders()), ["assay-build-ABCDEF", "assay-build-abcdef", "assay-build-notes"])

    def test_kernel_crashes(self):
        compiler = self.script("cc5", """\
for last; do :; done
if [ "${last##*/}" = program.c ]; then
    sed -i 's/^_Bool kernel_0(.*{$/&\\n    *(volatile int *)8 = 1;/' "$last"
fi
exec cc "$@"
""")
        for r in self.both(code=1, ASSAY_CC=compiler):
            self.assertEqual(r["status"], "failed")
            self.assertIn("SIG", r["reason"])

    # --- the cache -------------------------------------------------------------------------------------------------------

    def test_kept_and_damaged(self):
        self.check_well(self.both())
        kept = self.entries()
        self.assertEqual(len(kept), 2)
        for damage in ("cut", "flip", "empty", "other"):
            with self.subTest(damage=damage):
                for path in kept:
                    with open(path, "rb") as f:
                        whole = f.read()
                    middle = len(whole) // 2
                    changed = {"cut": whole[:middle], "empty": b"", "other": b"no code at all" * 100,
                               "flip": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:]}[damage]
                    with open(path, "wb") as f:
                        f.write(changed)
                self.check_well(self.both())
                self.assertEqual(self.entries(), kept)
                for path in kept:
                    self.assertGreater(os.path.getsize(path), 1000)
        self.check_well(self.both(ASSAY_CC="cc"))

    def test_kept_needs_no_compiler(self):
        says = "case $1 in --version) exec cc $1;; esac\n"
        compiler = self.script("once", says + "exec cc \"$@\"\n")
        broken = f"#!/bin/sh\n{says}exit 1      \n"  # as long
        self.check_well(self.both(ASSAY_CC=compiler))
        before = os.stat(compiler)
        with open(compiler, "r+") as f:
            f.write(broken)
        os.utime(compiler, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.check_well(self.both(ASSAY_CC=compiler))
        os.utime(compiler)  # an update: what it made is made anew
        for r in self.both(code=1, ASSAY_CC=compiler):
            self.assertEqual(r["status"], "failed")

    def test_cache_cannot_be_written(self):
        os.mkdir(self.path("closed"), 0o500)
        places = {"/dev/full": None, self.inputs: None, "/proc": None}
        if not ROOT:
            places[self.path("closed")] = None
        for place in places:
            with self.subTest(place=place):
                self.check_well(self.both(XDG_CACHE_HOME=place), "not kept")

    def test_choices_cannot_be_written(self):
        """The tuner's note leaves what is not kept in sight."""
        done = self.operators("--inputs", self.inputs, "--backend", "compiled:autotune", "--backend", "eager", "--jsonl", "-",
                              env={"XDG_CACHE_HOME": "/dev/full"})
        mine = [r for r in records_of(done.stdout) if r["backend"] == "compiled:autotune"]
        self.assertEqual(len(mine), 2)
        for r in mine:
            self.assertRegex(r["note"], "^tuned: .+; compiled code is not kept: /dev/full/assay.*; nor is the tuner's choice$")
        self.assertEqual(done.stderr.count("warning: compiled code is not kept: /dev/full/assay"), 1)

    def test_no_place_to_keep_code_is_said_once(self):
        inputs = self.write("two.txt", RELU)
        done = self.operators("--inputs", inputs, "--backend", "compiled", env={"XDG_CACHE_HOME": "/dev/full"})
        self.assertEqual(done.stderr.count("warning: compiled code is not kept: /dev/full/assay"), 1)
        shown = self.run_assay("doctor", "--quick", env={"XDG_CACHE_HOME": "/dev/full", "COLUMNS": "1000"}).stdout
        self.assertIn("nothing can be kept there", " ".join(shown.split()))
        self.assertIn("XDG_CACHE_HOME", shown)
        self.assertIn("nothing can be kept there", self.run_assay("cache", "info", env={"XDG_CACHE_HOME": "/dev/full"}).stdout)

    def test_cache_cannot_be_run(self):
        """What is kept there cannot be loaded from there: what was just built is."""
        mine = self.run_mounted(self.mounted("cache", "noexec"))
        self.assertEqual(len(mine), 2)
        self.check_well(mine, "not kept")

    def test_no_home(self):
        env = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
        run = subprocess.run([ASSAY, "operators", *QUICK, "--inputs", self.inputs, "--backend", "compiled", "--jsonl", "-"],
                             capture_output=True, cwd=self.folder, env={**env, "ASSAY_CC": "cc"}, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        mine = [r for r in records_of(run.stdout.decode()) if r["backend"] == "compiled"]
        self.check_well(mine, "XDG_CACHE_HOME")
        run = subprocess.run([ASSAY, "cache", "info"], capture_output=True, env=env, timeout=60)
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"HOME", run.stderr)

    def test_disk_is_full(self):
        if SANITIZER:
            self.skipTest("a sanitizer writes files of its own")
        self.both()
        sizes = [os.path.getsize(p) for p in self.entries()]
        compiler = self.script("unlimited", f"prlimit --fsize=unlimited --pid $$ 2>/dev/null\nexec cc \"$@\"\n")
        # Files of this size at most: what the compiler makes does not fit into the cache.
        records = self.limited(min(sizes) // 2, compiler)
        for r in records:
            self.assertEqual(r["status"], "ok", r["reason"])
            self.assertIn("not kept", r["note"])
        self.assertEqual(self.entries("small"), [], "nothing that is whole fits, and nothing else is kept")

    def limited(self, size, compiler):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        run = subprocess.run([ASSAY, "operators", *QUICK, "--inputs", self.inputs, "--backend", "compiled", "--backend", "eager",
                              "--jsonl", "-"], capture_output=True, cwd=self.folder, preexec_fn=limit, timeout=120,
                             env={**os.environ, "ASSAY_CC": compiler, "XDG_CACHE_HOME": self.path("small")})
        records = records_of(run.stdout.decode())
        self.assertEqual([r["status"] for r in records if r["backend"] == "eager"], ["ok"] * 2, run.stderr)
        mine = [r for r in records if r["backend"] == "compiled"]
        self.assertEqual(len(mine), 2)
        return mine

    def test_two_at_once(self):
        runs = [subprocess.Popen([ASSAY, "operators", *QUICK, "--inputs", self.inputs, "--backend", "compiled", "--jsonl", "-"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **self.env}, cwd=self.folder)
                for _ in range(3)]
        for run in runs:
            out, errors = run.communicate(timeout=120)
            self.assertEqual(run.returncode, 0, errors)
            self.check_well([r for r in records_of(out.decode()) if r["backend"] == "compiled"])
        self.assertEqual(len(self.entries()), 2)

    # --- what a graph may do ---------------------------------------------------------------------------------------------

    def test_writes_under_other_names(self):
        """What one name writes the others show: views of values and of inputs, before and after."""
        self.check_graphs(ALIASES)

    def test_as_long_a_graph_as_is_read(self):
        """Passes go from a value to what it is made of: not as deep as this."""
        lines = ["graph chain: long", "%v0 = input(T([64], f32))"] + [f"%v{i} = sin(%v{i - 1})" for i in range(1, 10000)] + ["return %v9999"]
        chain = self.write("chain.graph", "\n".join(lines) + "\n")
        done = self.run_assay("compile", chain, "--dump", "kernels")
        self.assertIn("20 kernels, 0 calls", done.stdout)

    def test_rows_of_other_parts(self):
        self.check_graphs(NEIGHBOURS)

    def test_tuned_steps_find_what_others_leave(self):
        """Indices that a step brings into range in place, or counts: a step that is tuned reads what one run before it leaves."""
        for i, text in enumerate(TUNED):
            path = self.write(f"tuned{i}.graph", text)
            for again in range(2):  # the second finds the choice of the first
                records = self.records("--inputs", path, "--backend", "compiled:autotune", "--backend", "eager", env=self.env)
                self.assertEqual([r["status"] for r in records], ["ok"] * 2, records)

    def test_long_lists(self):
        """More tensors than a kernel joins: the library's call."""
        for op, n, stays in (("cat", 60, False), ("cat", 70, True), ("stack", 300, True)):
            tensors = ", ".join(["T([3, 5], f32)"] * n)
            path = self.write("long.txt", f"Operator: aten.{op}.default\ncnt: 1, (([{tensors}], 1), {{}})\n")
            for r in self.records("--inputs", path, "--backend", "compiled", "--repeats", "0", env=self.env):
                self.assertEqual((r["status"], r["fallback"]), ("ok", stays and r["backend"] == "compiled"), r)

    def check_graphs(self, texts):
        inputs = [self.write(f"{i}.graph", text) for i, text in enumerate(texts)]
        for path in inputs:
            records = self.records("--inputs", path, "--backend", "eager", "--backend", "compiled", "--backend",
                                   "compiled:own-products", env=self.env)
            self.assertEqual(len(records), 3)
            for r in records:
                self.assertEqual((r["status"], r["fallback"]), ("ok", False), r)

    def test_traffic(self):
        """A compiler's kernels and the bytes they move are told, beside the least."""
        records = self.records("--inputs", GRAPH, "--backend", "eager", "--backend", "compiled", env=self.env)
        by = {r["backend"]: r for r in records}
        self.assertEqual((by["compiled"]["kernels"], by["compiled"]["library_calls"]), (1, 0))
        self.assertGreaterEqual(by["compiled"]["bytes_moved"], by["compiled"]["bytes"])
        self.assertIsNone(by["eager"]["kernels"])

    # --- configurations --------------------------------------------------------------------------------------------------

    def test_configurations(self):
        names = ["compiled", "compiled:nofuse", "compiled:autotune"]
        records = self.records("--inputs", GRAPH, *[a for n in names for a in ("--backend", n)], env=self.env)
        self.assertEqual({r["backend"] for r in records} - {"eager"}, set(names))
        for r in records:
            self.assertEqual(r["status"], "ok", r)

    def test_mistakes(self):
        for arguments, words in MISTAKES:
            with self.subTest(arguments=arguments):
                done = self.run_assay(*arguments, code=2)
                self.assertEqual(done.stdout, "")
                for word in words:
                    self.assertIn(word, done.stderr)

    # --- the verbs -------------------------------------------------------------------------------------------------------

    def test_dumps(self):
        graph = self.run_assay("compile", "--dump", "graph", GRAPH).stdout
        self.assertIn("output %", graph)
        kernels = self.run_assay("compile", "--dump", "kernels", GRAPH).stdout
        self.assertIn("1 kernel, 0 calls", kernels)
        code = self.run_assay("compile", GRAPH).stdout
        self.assertEqual(code, self.run_assay("compile", "--dump", "c", GRAPH).stdout)
        self.assertIn("_Bool kernel_0(", code)
        done = subprocess.run(["cc", "-x", "c", "-fsyntax-only", "-"], input=code.encode(), capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        one = self.run_assay("compile", "--op", "aten.relu.default", "((T([4, 5], f32),), {})").stdout
        self.assertIn("= maximum f32", one)
        without = self.run_assay("compile", "--no-fusion", "--dump", "kernels", GRAPH).stdout
        self.assertRegex(without, "[2-9] kernels")

    def test_help(self):
        for verb in ("compile", "cache"):
            shown = self.run_assay(verb, "--help").stdout
            self.assertIn(f"usage: assay {verb}", shown)
            self.assertIn(verb, self.run_assay("--help").stdout)

    def test_in_place_is_tuned_apart(self):
        """The same code, which is faster or slower by where its results lie."""
        text = "".join(f"Operator: aten.hardtanh{way}.default\ncnt: 1, ((T([64, 100], f32), 0.0, 6.0), {{}})\n" for way in ("", "_"))
        path = self.write("apart.txt", text)
        self.records("--inputs", path, "--backend", "compiled:autotune", "--backend", "eager", env=self.env)
        kept = [os.path.splitext(name)[1] for name in self.entries()]
        self.assertEqual((kept.count(".tune"), kept.count(".so")), (2, 1))

    def test_cache_cannot_be_looked_into(self):
        os.makedirs(self.path("cache/assay"))
        os.symlink("compiled", self.path("cache/assay/compiled"))  # leads to itself
        for word in ("info", "clear"):
            done = self.run_assay("cache", word, code=1, env=self.env)
            self.assertEqual(done.stdout, "")
            self.assertIn(self.path("cache/assay/compiled") + " cannot be looked into", done.stderr)

    def test_cache(self):
        self.assertIn("0 entries", self.run_assay("cache", "info", env=self.env).stdout)
        self.both()
        shown = self.run_assay("cache", env=self.env).stdout
        self.assertRegex(shown, r"^2 entries, .* of at most 256 MiB, in ")
        self.assertIn(self.path("cache"), shown)
        self.assertEqual(self.run_assay("cache", "clear", env=self.env).stdout, "removed 2 entries\n")
        self.assertIn("0 entries", self.run_assay("cache", "info", env=self.env).stdout)
        self.assertEqual(self.entries(), [])

    def test_one_of_a_kind(self):
        relu = ["aten.relu.default", "((T([8], f32),), {})"]
        self.assertIn("\n    1 task, ", self.run_assay("compile", "--dump", "kernels", *relu).stdout)
        inputs = self.write("relu.txt", "Operator: aten.relu.default\ncnt: 1, ((T([8], f32),), {})\n")
        self.records("--inputs", inputs, "--backend", "compiled", env=self.env)
        self.assertRegex(self.run_assay("cache", env=self.env).stdout, r"^1 entry, ")
        self.assertEqual(self.run_assay("cache", "clear", env=self.env).stdout, "removed 1 entry\n")


if __name__ == "__main__":
    main()
