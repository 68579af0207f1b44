# SPDX-License-Identifier: Apache-2.0
"""What checking passes and what it must not, and the distance from the reference that a record tells of it."""
import json
import os

from cli_case import RELU, SOURCE, Case, main, plugin, schema_errors

REFERENCE = ["--backend", "reference", "--baseline", "reference"]
CHECK_ALONE = ["--repeats", "0"]

# In-place draws into inputs that look like draws themselves.
DRAWS = """Operator: aten.normal_.default
cnt: 1, ((T([64, 64], f32),), {})
Operator: aten.uniform_.default
cnt: 1, ((T([64, 64], f32),), {})
Operator: aten.bernoulli_.float
cnt: 1, ((T([64, 64], b8),), {})
cnt: 1, ((T([64, 64], f32),), {})
"""
NOT_KNOWN = {"max_abs": None, "rel_l2": None, "worst_ulp": None}


class Checks(Case):
    def check(self, text, *arguments, **options):
        """Records, each of which fits the schema."""
        records = self.records("--inputs", self.write("inputs.txt", text), *CHECK_ALONE, *arguments, **options)
        with open(os.path.join(SOURCE, "docs", "record.schema.json")) as f:
            schema = json.load(f)
        for record in records:
            self.assertEqual(schema_errors(record, schema, schema), [])
        return records

    def test_reference_agrees_with_itself(self):
        """Running statistics, which are no outputs, included."""
        text = "Operator: aten.native_batch_norm.default\n" + "".join(
            f"cnt: 1, ((T([4, 3, 5], f32), T([3], f32), T([3], f32), T([3], f32), T([3], f32), {trains}, 0.1, 1e-05), {{}})\n"
            for trains in (True, False))
        for record in self.check(text, *REFERENCE):
            self.assertEqual(record["status"], "ok", record["reason"])

    def test_what_draws_and_writes_nothing(self):
        records = self.check(DRAWS, "--dtype", "as-recorded", "--backend", plugin("does_nothing"), code=4)
        self.assertEqual({(r["backend"], r["status"]) for r in records}, {("does_nothing", "mismatch"), ("eager", "ok")})

    def test_mask_that_is_not_written(self):
        records = self.check("Operator: aten.native_dropout.default\ncnt: 1, ((T([64], f32), 0.5, False), {})\n",
                             "--backend", plugin("mask_unwritten"), code=4)
        mine = next(r for r in records if r["backend"] == "mask_unwritten")
        self.assertEqual((mine["status"], "no boolean" in mine["reason"]), ("mismatch", True))

    def test_a_failure_is_no_small_error(self):
        """Neither what was not compared nor what is NaN has a distance of 0."""
        for name, code, counts in (("does_nothing", 4, (20, 20)), ("unwritten", 4, (20, 20)), ("output_fails", 0, (None, None))):
            with self.subTest(plugin=name):
                mine = next(r for r in self.check(RELU, "--backend", plugin(name), code=code) if r["backend"] == name)
                self.assertNotEqual(mine["status"], "ok")
                self.assertEqual(mine["error"], {**NOT_KNOWN, "checked_elements": counts[0], "total_elements": counts[1]})
        wrong = next(r for r in self.check(RELU, "--backend", plugin("wrong_result"), code=4) if r["status"] == "mismatch")
        self.assertAlmostEqual(wrong["error"]["max_abs"], 1, 5)


if __name__ == "__main__":
    main()
