import assert from "node:assert/strict";
import { test } from "node:test";
import { logFaults } from "../../../src/lib/quotes.ts";

const AT = "2023-05-01 10:00:00.1 77";

async function faults(...texts: readonly string[]): Promise<readonly string[]> {
  async function* lines() {
    for (const [at, text] of texts.entries()) yield { line: at + 1, text };
  }
  const found: string[] = [];
  for await (const { line, text } of logFaults(lines())) found.push(`${line} ${text}`);
  return found;
}

test("each of the rules finds its line, and nothing else is a fault", async () => {
  const bad = [
    `${AT} ERROR ironic.a [-] no`,
    `${AT} CRITICAL ironic.a [-] no`,
    `${AT} WARNING ironic.a [-] Cannot validate power`,
    `${AT} WARNING ironic.a [-] Failed to set DHCP BOOT options for a port`,
    `${AT} WARNING ironic.a [-] MissingParameterValue`,
    `${AT} WARNING ironic.a [-] Conductor with hostname c was previously registered.`,
  ];
  const fine = [
    `${AT} INFO ironic.a [-] Successfully started conductor with hostname c.`,
    `${AT} DEBUG ironic.a [-] no ERRORS here`,
    "",
  ];
  const found = await faults(...bad.flatMap((line) => [...fine, line]));
  const wanted = bad.map((line, at) => `${4 * at + 4} ${line}`);
  assert.deepEqual(found, wanted);
});

test("a trace is one fault, whether oslo's or bare, and the next line with a context another", async () => {
  const oslo = ["Traceback (most recent call last):", '  File "a.py", line 1', "KeyError: 'x'"].map(
    (text) => `${AT} ERROR ironic.a ${text}`,
  );
  const error = `${AT} ERROR ironic.b [req-1] again`;
  assert.deepEqual(await faults(...oslo, error), [`1 ${oslo[0]} ... ${oslo[2]}`, `4 ${error}`]);
  const bare = ["Traceback (most recent call last):", "  File x", "ValueError: no"];
  assert.deepEqual(await faults(...bare, error), [`1 ${bare[0]} ... ${bare[2]}`, `4 ${error}`]);
  const first = "May  1 10:00:00 c ironic: Traceback (most recent call last):";
  const syslog = [first, "May  1 10:00:01 c ironic: fine"];
  assert.deepEqual(await faults(...syslog), [`1 ${syslog[0]}`]);
});
