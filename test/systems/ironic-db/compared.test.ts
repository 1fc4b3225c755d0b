import assert from "node:assert/strict";
import { test } from "node:test";
import type { Seal } from "../../../src/model/secret.ts";
import { createSeal } from "../../../src/run/files/seal.ts";
import { fleet } from "../../support/fleet.ts";
import { planned, seal, type Workplace, withCase } from "../../support/planned-case.ts";
import { disturb } from "../../support/rich.ts";
import { applied, verified } from "../../support/stages.ts";

const MACHINES = 24;

async function loaded(work: (at: Workplace) => Promise<void>): Promise<void> {
  await withCase(fleet(MACHINES), async (at) => {
    await planned(at);
    await applied(at);
    await work(at);
  });
}

/** Verifies what is there, and counts secrets that were opened for it. */
async function compared(at: Workplace, key: Seal) {
  let opened = 0;
  const open: Seal["open"] = (sealed) => {
    opened += 1;
    return key.open(sealed);
  };
  const { tally, verdicts } = await verified(at, { ...key, open });
  const wrong = verdicts.filter(({ state }) => state !== "validated");
  return { tally, opened, fields: wrong.flatMap(({ differs }) => differs) };
}

async function changePasswords({ ironic }: Workplace, machines: number): Promise<void> {
  const nodes: readonly { id: number; driver_info: string }[] = await ironic
    .knex("nodes")
    .whereLike("driver_info", "%password%")
    .limit(machines);
  assert.equal(nodes.length, machines);
  for (const { id, driver_info } of nodes) {
    const changed = driver_info.replace(/(password": *")[^"]*/, "$1another");
    await disturb(ironic, "UPDATE nodes SET driver_info=? WHERE id=?", [changed, id]);
  }
}

test("verify opens no secret that is as planned, and of those that differ each once", async () => {
  await loaded(async (at) => {
    const before = await compared(at, seal);
    assert.ok(before.tally.validated >= 2 * MACHINES);
    assert.equal(before.tally.mismatched, 0);
    assert.equal(before.opened, 0);
    await changePasswords(at, 3);
    const after = await compared(at, seal);
    assert.equal(after.tally.mismatched, 3);
    assert.equal(after.fields.length, 3);
    assert.ok(after.fields.every(({ field }) => /^driver_info\..*password$/.test(field)));
    assert.equal(after.opened, 3);
  });
});

test("with another key than the plan's no row is judged by its secrets, equal or not: verify is refused", async () => {
  await loaded(async (at) => {
    const rotated = createSeal(Buffer.alloc(32, 9));
    await assert.rejects(compared(at, rotated), { code: "N2I-E115" });
    await changePasswords(at, 1);
    await assert.rejects(compared(at, rotated), { code: "N2I-E115" });
    assert.equal((await compared(at, seal)).tally.mismatched, 1);
  });
});
