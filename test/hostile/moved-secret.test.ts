import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Json } from "../../src/lib/json.ts";
import { unsealed } from "../../src/model/secret.ts";
import { createArtefact } from "../../src/run/files/artefact-writer.ts";
import { createPlan } from "../../src/run/files/plan-folder.ts";
import type { RunFolder } from "../../src/run/files/run-folder.ts";
import { createSeal } from "../../src/run/files/seal.ts";
import { openPlan, openSnapshot } from "../../src/run/run.ts";
import { refuses, tempRun } from "../run/files/temp-run.ts";
import { holdsLater } from "../support/seeded.ts";

const [ONE, TWO] = ["a0000000-0000-4000-8000-000000000001", "a0000000-0000-4000-8000-000000000002"];
const seal = createSeal(Buffer.alloc(32, 5));
const secret = seal.seal("calvin", TWO);

/** Every secret a plan's line could hold, wherever it stands. */
const places = fc.constantFrom<(inner: Json) => { readonly [key: string]: Json }>(
  (inner) => ({ records: [{ row: { driver_info: { ipmi_password: inner } } }] }),
  (inner) => ({ records: [{ row: { extra: { a: [{ b: inner }] } } }] }),
  (inner) => ({ records: [{ row: {}, differs: [{ field: "x", planned: inner, found: null }] }] }),
);

async function planLines(run: RunFolder, more: { readonly [key: string]: Json }): Promise<void> {
  const plan = await createPlan(run);
  const writer = await plan.begin("machines", { format: "nova2ironic/machines@1" });
  await writer.write({ bm_node_id: 1, uuid: ONE, service_host: "compute-1", ...more });
  await plan.finish({} as never, () => Promise.resolve());
  const { lines } = await openPlan(`${run.path}/plan`);
  for await (const _ of lines());
}

test("a secret that was moved to another machine's line of a plan is refused, wherever it stands", async (t) => {
  const run = await tempRun(t);
  await holdsLater(12, places, async (at) => {
    await assert.rejects(planLines(run, at({ ...secret })), refuses("N2I-E115", TWO));
    await planLines(run, at({ ...seal.seal("calvin", ONE) }));
    await planLines(run, at({ ...seal.seal("calvin", "host:compute-1") }));
    const says = refuses("N2I-E115");
    await assert.rejects(planLines(run, at({ ...seal.seal("x", "host:compute-2") })), says);
    // Who writes the other machine's name into it gets no further than where it is opened.
    const renamed = at({ ...secret, of: ONE });
    await planLines(run, renamed);
    assert.throws(() => opened(renamed), refuses("N2I-E115", ONE));
  });
});

/** As the way to a service opens it: objects all the way down. */
function opened(value: Json): Json {
  return Array.isArray(value)
    ? value.map(opened)
    : typeof value === "object" && value !== null && "secret" in value
      ? unsealed(value, seal)
      : typeof value === "object" && value !== null
        ? Object.values(value).map(opened)
        : value;
}

test("a plan with a secret whose place was removed is refused", async (t) => {
  const run = await tempRun(t);
  const unbound = { secret: secret.secret, length: 6 };
  const planning = planLines(run, {
    records: [{ row: { driver_info: { ipmi_password: unbound } } }],
  });
  await assert.rejects(planning, refuses("N2I-E115", "a secret of no machine"));
});

test("a snapshot's password of another machine is refused", async (t) => {
  const run = await tempRun(t);
  const writer = await createArtefact(run, "snapshot.jsonl", { format: "nova2ironic/snapshot@2" });
  const node = { id: 1, uuid: ONE, service_host: null, pm_password: secret };
  await writer.write({ node, interfaces: [] });
  await writer.finish({ machines: 1 });
  const { lines } = await openSnapshot(`${run.path}/snapshot.jsonl`);
  await assert.rejects(
    async () => {
      for await (const _ of lines());
    },
    refuses("N2I-E115", TWO),
  );
});
