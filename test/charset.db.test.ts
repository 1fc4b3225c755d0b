import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Case, caseUuid } from "./cases/case.ts";
import { loadIronic } from "./cases/load-case.ts";
import { withDatabase } from "./lab/index.ts";
import { open, planned, planOf, withCase } from "./support/planned-case.ts";
import { applied, verified } from "./support/stages.ts";

/** Five free machines; an owner is plain text in Ironic, which its charset must hold. */
const OWNERS = ["plain", "n\u00e4me", "\u20ac or \u0142", "\u7ba1\u7406", "\ud83d\ude80"];

const GIVEN: Case = {
  shows: "owners in the characters of the world",
  nova_bm: { nodes: OWNERS.map((_, at) => ({ id: at + 1 })) },
  ironic: { release: "2023.1" },
  allow_pairing: true,
  site: {
    format: "nova2ironic/site@1",
    machines: OWNERS.map((owner, at) => ({
      match: { uuid: caseUuid("node", at + 1) },
      set: { owner },
    })),
  },
};

/** Plans and loads into an Ironic of a charset; the owners there, and the machines told of D405. */
async function loadedInto(charset: string, t: TestContext) {
  const place = await withDatabase("mysql", t, charset);
  await loadIronic(place.db, "mysql", GIVEN, charset);
  const ironic = await open("env:URL", false, { URL: place.url });
  t.after(() => ironic.close());
  return withCase(GIVEN, async ({ run, written }) => {
    const at = { run, written, ironic };
    await planned(at);
    const told: number[] = [];
    for await (const batch of (await planOf(at)).lines())
      for (const { bm_node_id, verdict, findings } of batch)
        if (findings.some(({ code }) => code === "N2I-D405")) {
          assert.equal(verdict, "blocked");
          told.push(bm_node_id);
        }
    await applied(at);
    const { tally } = await verified(at);
    assert.equal(tally.mismatched, 0);
    const rows: readonly { readonly owner: string }[] = await place
      .db("nodes")
      .orderBy("uuid")
      .select("owner");
    return { told, owners: rows.map(({ owner }) => owner) };
  });
}

for (const [charset, told] of [
  ["utf8mb4", []],
  ["utf8mb3", [5]],
  ["latin1", [3, 4, 5]],
] as const)
  test(`an Ironic of ${charset} is given only characters it holds, and the machines of the others are told`, async (t) => {
    const loaded = await loadedInto(charset, t);
    assert.deepEqual(loaded, {
      told,
      owners: OWNERS.filter((_, at) => !(told as readonly number[]).includes(at + 1)),
    });
  });
