import assert from "node:assert/strict";
import { test } from "node:test";
import { adopt } from "../../../src/systems/ironic-api/adopt.ts";
import type { AdoptionOutcome } from "../../../src/systems/ironic-api/outcome.ts";
import { remove } from "../../../src/systems/ironic-api/remove.ts";
import { refuses } from "./keeps.ts";
import { type Living, livingIronic, machineOf, NODE } from "./living.ts";

const SECRET = "<Correct>-horse-Battery-staple-41";
const JOURNAL = { owned: () => true, ended: () => false, observed: async () => {} };

function machine({ seal }: Living) {
  return machineOf({ driver_info: { ipmi_password: seal.seal(SECRET, NODE) } });
}

/** No four letters of the secret that follow each other. */
function hides(outcome: AdoptionOutcome): void {
  const told = JSON.stringify([outcome, outcome.broke?.message]);
  for (let at = 0; at + 4 <= SECRET.length; at += 1)
    assert.ok(!told.includes(SECRET.slice(at, at + 4)), told);
}

/** Calls, the status with which the service quotes the password in a text that is cut amid it. */
const CALLS = [
  ["POST /v1/nodes", 400, "HTML"],
  ["POST /v1/nodes", 403, "JSON"],
  ["POST /v1/ports", 400, "JSON"],
  ["PUT", 400, "JSON"],
  ["PATCH", 403, "HTML"],
  ["GET /v1/nodes/", 400, "JSON"],
] as const;
for (const [start, status, form] of CALLS)
  test(`a BMC password that ${form} quotes in a ${status} to ${start} shows in no part`, async (t) => {
    const ironic = await livingIronic(t);
    const quoted = `${".".repeat(285)}${SECRET}`;
    const says = form === "JSON" ? refuses(status, quoted) : { status, text: `<b>${quoted}</b>` };
    ironic.use((call) => (call.startsWith(start) ? { done: false, says } : null));
    const outcome = await adopt(ironic.link, machine(ironic), JOURNAL);
    assert.match(outcome.failed ?? "", /\.\.\./);
    hides(outcome);
    ironic.use(() => null);
    await adopt(ironic.link, machine(ironic), JOURNAL);
    const back = start.startsWith("POST") ? "DELETE" : start;
    ironic.use((call) => (call.startsWith(back) ? { done: false, says } : null));
    const { left, broke } = await remove(ironic.link, machine(ironic), new Map());
    assert.match(`${JSON.stringify(left)}`, /\.\.\./);
    hides({ ...outcome, left, broke });
  });
