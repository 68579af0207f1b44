# SPDX-License-Identifier: Apache-2.0
"""Installs into a folder of its own and uses what lies there as a stranger would: the program with its suites, a plug-in
and a C program built through pkg-config.

usage: check_install.py CMAKE BUILD_FOLDER SOURCE_FOLDER C_COMPILER
Exit code 77 (skipped) without pkg-config.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

cmake, build, source, compiler = sys.argv[1:5]
if shutil.which("pkg-config") is None:
    print("skipped: pkg-config is not there")
    sys.exit(77)

PROGRAM = """
#include <assay/assay.h>
#include <assay/profile.h>
#include <stdio.h>
/* Names that the library uses inside. */
int capture, text_add;
int fail(void);
int fail(void) { return capture + text_add; }
void *file_read(void);
void *file_read(void) { return &capture; }
int main(void) {
    assay_session *session = NULL;
    assay_error error = {0};
    if (assay_session_new(&session, &error) != ASSAY_OK) {
        fprintf(stderr, "%s\\n", error.message);
        return 1;
    }
    if (fail() != 0 || file_read() == NULL || assay_profile_stop(session, &error) != ASSAY_INVALID) {
        return 2;
    }
    assay_session_free(session);
    puts("linked");
    return 0;
}
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    prefix = os.path.join(folder, "usr")
    run(cmake, "--install", build, "--prefix", prefix)
    pc = [os.path.join(at, "assay.pc") for at, _, names in os.walk(prefix) if "assay.pc" in names]
    assert len(pc) == 1, pc
    env = {**os.environ, "PKG_CONFIG_PATH": os.path.dirname(pc[0])}
    with open(pc[0]) as f:
        content = f.read()
    assert "@" not in content and f"prefix={prefix}\n" in content, content

    run(cmake, "-S", os.path.join(source, "examples", "plugin"), "-B", f"{folder}/example", env=env)
    run(cmake, "--build", f"{folder}/example", env=env)
    assay = os.path.join(prefix, "bin", "assay")
    listed = run(assay, "operators", "--suite", "embedded", "--op", "relu.default", "--max-samples", "1", "--repeats", "1",
                 "--min-time", "0", "--backend", f"{folder}/example/libexample.so", "--backend", "reference", "--baseline",
                 "reference", cwd=folder)
    assert "example: 1 ok" in listed, listed

    # The suites are found where the program lies, wherever that is and however it is called.
    bare = {k: v for k, v in env.items() if k != "ASSAY_SUITES"}
    moved = shutil.move(prefix, os.path.join(folder, "moved"))
    link = os.path.join(folder, "link")
    os.symlink(os.path.join(moved, "bin", "assay"), link)
    graphs = run(link, "operators", "--suite", "graphs", "--op", "bias_gelu", "--dry-run", cwd=folder, env=bare)
    assert os.path.join(os.path.realpath(moved), "share/assay/suites/graphs/bias_gelu.graph") in graphs, graphs
    shutil.move(moved, prefix)

    # One library, in which only what the headers promise can be seen.
    libraries = [os.path.join(at, name) for at, _, names in os.walk(prefix) for name in names if name.endswith(".a")]
    assert [os.path.basename(path) for path in libraries] == ["libassay.a"], libraries
    promised = set()
    for header in glob.glob(os.path.join(prefix, "include", "assay", "*.h")):
        with open(header) as f:
            promised |= set(re.findall(r"^(?:ASSAY_API )?(?:const )?\w+ \*?(assay_\w+)\(", f.read(), re.MULTILINE))
    assert {"assay_call", "assay_status_text", "assay_profile_start"} <= promised, promised
    symbols = run("nm", "--extern-only", "--defined-only", libraries[0])
    seen = {line.split()[-1] for line in symbols.splitlines() if len(line.split()) == 3}
    assert seen == promised, seen ^ promised

    program = os.path.join(folder, "program.c")
    with open(program, "w") as f:
        f.write(PROGRAM)
    flags = run("pkg-config", "--cflags", "--libs", "--static", "assay", env=env).split()
    run(compiler, program, "-o", f"{folder}/program", *flags)
    assert run(f"{folder}/program") == "linked\n"
    for expected in ("share/man/man1/assay.1", "share/assay/suites/embedded.txt", "share/assay/suites/graphs/bias_gelu.graph", "share/assay/record.schema.json",
                     "include/assay/backend.h"):
        assert os.path.exists(os.path.join(prefix, expected)), expected
print("installed, and used from there")
