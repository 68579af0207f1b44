# SPDX-License-Identifier: Apache-2.0
"""A helper process that dies, hangs, prints junk or cannot be started costs one row, and the next one has a new process."""
import os
import unittest

from cli_case import RELU, Case, main, plugin

# Counts the processes in the file `started`. The first one does what WRONG says when it is asked; the others agree.
HELPER = """#!/bin/sh
echo started >>"$0.started"
[ "$(wc -l <"$0.started")" -gt 1 ] && first=no || first=yes
while read -r request; do
    if [ "$first" = yes ]; then
        WRONG
    fi
    echo "ok 0"
done
"""

# what the first process does: words of the row's reason
FAULTS = {
    "exit 0": "the helper process died",
    "kill -9 $$": "the helper process died",
    "echo junk": "the helper process answered 'junk'",
    "echo": "the helper process answered ''",
    "echo okay": "the helper process answered 'okay'",
    "head -c 2000000 /dev/zero | tr '\\0' x": "sent a line without an end",
    "exec sleep 1000": "did not answer within 0.5 s",
}


@unittest.skipUnless(os.path.exists(plugin("asks_helper")), "no C++ compiler was found when the tests were built")
class Helpers(Case):
    def rows(self, wrong, *arguments, code=0, patience="10"):
        self.helper = self.write("helper", HELPER.replace("WRONG", wrong))
        os.chmod(self.helper, 0o755)
        if os.path.exists(self.helper + ".started"):
            os.remove(self.helper + ".started")
        inputs = self.write("model.txt", RELU)
        records = self.records("--inputs", inputs, "--backend", plugin("asks_helper"), "--backend", "reference", "--baseline",
                               "reference", *arguments, code=code,
                               env={"ASSAY_TEST_HELPER": self.helper, "ASSAY_TEST_PATIENCE_S": patience})
        others = [r["status"] for r in records if r["backend"] == "reference"]
        self.assertEqual(others, ["ok", "ok"])
        return [r for r in records if r["backend"] == "asks_helper"]

    def processes(self):
        with open(self.helper + ".started") as f:
            return len(f.readlines())

    def test_good_one_is_kept(self):
        self.assertEqual([r["status"] for r in self.rows(":")], ["ok", "ok"])
        self.assertEqual(self.processes(), 1)

    def test_faults(self):
        for wrong, words in FAULTS.items():
            with self.subTest(wrong=wrong):
                mine = self.rows(wrong, code=1, patience="0.5" if "sleep" in wrong else "10")
                self.assertEqual([r["status"] for r in mine], ["failed", "ok"])
                self.assertIn(words, mine[0]["reason"])
                self.assertIn("it is started again for the next operator", mine[0]["reason"])
                self.assertEqual(self.processes(), 2)

    def test_words(self):
        mine = self.rows("echo unsupported not today; continue")
        self.assertEqual([(r["status"], r["reason"]) for r in mine], [("unsupported", "not today")] * 2)
        mine = self.rows("echo failed on purpose; continue", code=1)
        self.assertEqual([(r["status"], r["reason"]) for r in mine], [("failed", "on purpose")] * 2)
        self.assertEqual(self.processes(), 1)

    def test_hang_past_the_limit(self):
        mine = self.rows("exec sleep 1000", "--sample-timeout", "4", code=1)
        self.assertEqual([r["status"] for r in mine], ["timeout", "ok"])

    def test_no_such_helper(self):
        inputs = self.write("model.txt", RELU)
        records = self.records("--inputs", inputs, "--backend", plugin("asks_helper"), "--baseline", "asks_helper", code=1,
                               env={"ASSAY_TEST_HELPER": self.path("nowhere")})
        self.assertEqual([r["status"] for r in records if r["backend"] == "asks_helper"], ["failed", "failed"])
        self.assertIn("cannot be started", records[0]["reason"])


if __name__ == "__main__":
    main()
