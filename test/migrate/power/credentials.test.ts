import assert from "node:assert/strict";
import { test } from "node:test";
import { deployed, readings, run } from "./deployed.ts";

/** Name and password on the BMC, and what nova_bm has where that is another. */
const LOGINS: readonly (readonly [string, string, string, string, string, string])[] = [
  ["admin", "p".repeat(16), "admin", "p".repeat(16), "ok", ""],
  ["admin", "p".repeat(20), "admin", "p".repeat(20), "ok", ""],
  ["admin", "p".repeat(20), "admin", `${"p".repeat(20)}q`, "ok", "N2I-D626"],
  ["admin", "p".repeat(20), "admin", "p".repeat(19), "wrong-password", ""],
  ["admin", "pässwörd-€", "admin", "pässwörd-€", "ok", ""],
  // The twentieth byte is within the last character, and ipmitool cuts there, too.
  ["admin", `${"€".repeat(6)}é`, "admin", `${"€".repeat(6)}ééé`, "ok", "N2I-D626"],
  ["n".repeat(16), "secret", "n".repeat(16), "secret", "ok", ""],
  ["jürgen", "secret", "jürgen", "secret", "ok", ""],
  ["é".repeat(8), "secret", "é".repeat(8), "secret", "ok", ""],
  ["admin", "secret", "n".repeat(17), "secret", "incomplete", ""],
  ["admin", "secret", "é".repeat(9), "secret", "incomplete", ""],
  ["", "secret", "", "secret", "ok", ""],
];

test("names and passwords of any length and script are used as ipmitool uses them", async (t) => {
  const at = await deployed(
    t,
    LOGINS.map(([name, password]) => ({ users: [{ name, password }] })),
    (addresses) => ({
      nova_bm: {
        nodes: LOGINS.map(([, , pm_user, pm_password], n) => ({
          ...{ id: n + 1, pm_address: addresses[n] ?? "", pm_user, pm_password },
        })),
      },
    }),
  );
  const asked = await run(at.folder, ["power", "--run", "run", "--deadline", "5"]);
  assert.equal(asked.code, 3, asked.err);
  for (const [n, { verdict, warnings, detail }] of readings(at.folder).entries()) {
    const [, , name, , expected, warning] = LOGINS[n] ?? [];
    assert.equal(verdict, expected, `${name}: ${detail}`);
    assert.deepEqual(warnings.includes("N2I-D626"), warning === "N2I-D626", `${n}`);
  }
});
