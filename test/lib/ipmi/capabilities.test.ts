import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isBusy } from "../../../src/lib/ipmi/commands.ts";
import { ask } from "./sim-ask.ts";
import type { Nature } from "./sim-nature.ts";

type Forms = Pick<Nature, "form2" | "form15">;

/**
 * Whether ipmitool opens a session with a BMC that always answers so. 2.0's form is asked first, 1.5's
 * after an error or silence, and the answer has to have the bit of 2.0.
 *
 * @source ipmitool be11d94 src/plugins/lan/auth.c and lanplus.c, ipmi_get_auth_capabilities_cmd
 */
function isOpened({ form2, form15 }: Forms): boolean {
  return form2 === "answers" || form15 === "has 2.0 bits";
}

/** Errors and answers of every kind, and those that mean that it is busy oftener than by chance. */
const code = fc.oneof(fc.integer({ min: 1, max: 255 }), fc.constantFrom(0xc0, 0xcc, 0xd1, 0xff));
const forms = fc.record<Forms>({
  form2: fc.oneof(fc.constantFrom<"answers" | "cut">("answers", "cut"), code),
  form15: fc.oneof(
    fc.constantFrom<"answers" | "has 2.0 bits" | "silent" | "cut">(
      ...(["answers", "has 2.0 bits", "silent", "cut"] as const),
    ),
    code,
  ),
});
const isBusyForm = (form: Nature["form2" | "form15"]): boolean =>
  typeof form === "number" && isBusy(form);

test("an error to the first question is never called IPMI 1.5, and what ipmitool opens is read", async () => {
  const seen = new Set<string>();
  const run = fc.asyncProperty(forms, fc.nat(), async (given, seed) => {
    const { answer } = await ask(given, { seed });
    seen.add(answer.verdict);
    const { form2, form15 } = given;
    if (isBusyForm(form2)) return assert.equal(answer.verdict, "busy", answer.detail);
    if (isOpened(given)) return assert.equal(answer.verdict, "ok", answer.detail);
    if (isBusyForm(form15)) return assert.equal(answer.verdict, "busy", answer.detail);
    // Its own word, without an error and without the bit of 2.0, and nothing else.
    if (form15 === "answers") return assert.equal(answer.verdict, "no-ipmi2", answer.detail);
    assert.equal(answer.verdict, "protocol-error", answer.detail);
    const said =
      typeof form2 === "number" ? `says 0x${form2.toString(16).padStart(2, "0")}` : "cut";
    assert.ok(answer.detail.includes(said), answer.detail);
  });
  await fc.assert(run, { numRuns: 200, seed: 1 });
  assert.deepEqual([...seen].toSorted(), ["busy", "no-ipmi2", "ok", "protocol-error"]);
});

test("errors to the first questions, and none later, change no reading", async () => {
  const times = fc.integer({ min: 0, max: 3 });
  const run = fc.asyncProperty(forms, times, fc.nat(), async (given, formTimes, seed) => {
    const { answer } = await ask({ ...given, formTimes }, { seed });
    assert.deepEqual([answer.verdict, answer.power], ["ok", "on"], answer.detail);
  });
  await fc.assert(run, { numRuns: 100, seed: 1 });
});

test("a BMC that answers 1.5's form alone, with the bit of 2.0, is read", async () => {
  for (const form2 of ["silent", 0xcc] as const) {
    const { answer } = await ask({ form2, form15: "has 2.0 bits" });
    assert.deepEqual([answer.verdict, answer.power, answer.kg], ["ok", "on", false]);
  }
});
