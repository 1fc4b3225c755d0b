import assert from "node:assert/strict";
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { test } from "node:test";
import { choiceOf } from "../../src/core/hosts/choice.ts";
import { caseUuid } from "../../src/demo/case.ts";
import type { PlannedMachine } from "../../src/model/plan.ts";
import { besideNova } from "../../src/stages/nova-side.ts";
import { inRun, openPlan } from "../../src/stages/run.ts";
import { withSession } from "../../src/stages/session.ts";
import { tenantsOf } from "../../src/stages/tenants.ts";
import { run, runs } from "../hostile/cli.ts";
import { deployFiles } from "../hostile/deployment.ts";
import { SITE, tenant } from "../hostile/fleet.ts";
import { checkRows } from "../nova/check-output.ts";
import { plannedCloud } from "../nova/planned.ts";

const MACHINE: PlannedMachine = {
  ...{ bm_node_id: 1, uuid: null, service_host: null, verdict: "create", reason: null },
  ...{ state: { row: "free", outcome: "available" }, records: [], findings: [] },
};

/** How often the plan's machines are opened until it is asked: for a digest, and for each time that they are parsed. */
function opened(t: { readonly after: (end: () => void) => void }): () => number {
  const { open } = files;
  let count = 0;
  const watch = (...given: Parameters<typeof open>): ReturnType<typeof open> => {
    if (String(given[0]).endsWith("/machines.jsonl")) count += 1;
    return open(...given);
  };
  const put = (one: typeof open): void => {
    files.open = one;
    syncBuiltinESMExports();
  };
  put(watch);
  t.after(() => put(open));
  return () => {
    const so = count;
    count = 0;
    return so;
  };
}

test("a plan is parsed by its load, its verify and once for Nova; without Nova by the two alone, once by check, twice by a rollback with Nova", async (t) => {
  const made = await plannedCloud("sqlite", t);
  assert.ok(made);
  const { act, at, writer } = made;
  const count = opened(t);
  count();
  assert.equal((await act(["apply"])).status, 0);
  assert.equal(
    count(),
    1 + 3,
    "requests and tenants are asked for of one pass, the load's, verify's",
  );
  assert.equal((await act(["apply"])).status, 0);
  assert.equal(
    count(),
    1 + 3,
    "nodes of others are looked for in the pass that tells whom to ask for",
  );
  await run(["apply", ...at, ...writer, "--leave-nova", "--yes"]);
  // One more for the digest.
  assert.equal(count(), 1 + 2);
  await checkRows(made);
  assert.equal(count(), 1 + 1);
  assert.equal((await act(["rollback", "--all"])).status, 0);
  assert.equal(count(), 2 + 2);
});

test("a pass over the plan that was broken off tells Nova of no machine: another is made", async () => {
  let passes = 0;
  const line = (bm_node_id: number) => ({ ...MACHINE, bm_node_id }) satisfies PlannedMachine;
  async function* lines() {
    passes += 1;
    yield await Promise.resolve([line(1), { ...line(2), verdict: "unchanged" as const }]);
    yield [line(3)];
  }
  const { lines: watched, take } = tenantsOf(lines, choiceOf([]));
  for await (const _ of watched()) break;
  const places = async () => Array.from(await take(), ({ at, bm_node_id }) => [at, bm_node_id]);
  const [first, third] = [
    [0, 1],
    [2, 3],
  ];
  assert.deepEqual(await places(), [first, third]);
  assert.equal(passes, 2);
  for await (const _ of watched());
  assert.deepEqual(await places(), [first, third]);
  assert.equal(passes, 3, "the pass that came to its end is enough");
});

test("a tenant that came amid the watch is met, although the plan was read before it", async (t) => {
  const made = await plannedCloud("sqlite", t);
  assert.ok(made);
  const { run: folder, novaWriter, nova } = made;
  const count = opened(t);
  const uuid = caseUuid("instance", 90);
  let isThere = false;
  const come = async (): Promise<void> => {
    const tenant = await nova.db("instances").where({ id: 1 }).first();
    await nova.db("instances").insert({ ...tenant, id: 90, uuid });
    isThere = true;
  };
  const watching = {
    ...{ seconds: 3600, allowed: false },
    tell: (text: string) => void (text.startsWith("Watching") && come()),
  };
  const words = { novaDb: novaWriter[1] ?? "", leaveNova: false, confirm: () => Promise.resolve() };
  await inRun(folder, "apply", { create: false }, async (run) => {
    const { footer, lines } = await openPlan(`${folder}/plan`);
    await withSession(run, (session) =>
      besideNova(
        run,
        { ...session, stopping: () => isThere },
        footer,
        { ...words, watching, lines },
        async (side) => {
          assert.ok(side);
          await assert.rejects(side.check(), {
            code: "N2I-E300",
            message: new RegExp(`instance ${uuid} is on it`),
          });
        },
      ),
    );
  });
  assert.equal(count(), 1 + 1);
});

test("a report parses the plan once in either form, of a staged load too", async (t) => {
  const made = await deployFiles(t, {
    shows: "a tenant, staged",
    ...{ nova_bm: { nodes: [tenant(1)] }, ironic: { release: "kilo" } },
    ...{ allow_pairing: true, site: SITE },
  });
  const { at, source, writer, plan } = made;
  await runs(0, ["extract", ...at, ...source]);
  await runs(0, ["plan", ...at, ...writer, ...plan]);
  const count = opened(t);
  for (const staged of [false, true]) {
    if (staged) await runs(0, ["apply", ...at, ...writer, "--leave-nova", "--staged", "--yes"]);
    count();
    for (const form of ["html", "md"]) {
      await runs(0, ["report", ...at, "--format", form]);
      // What is true of the run is told after a second look at its digest.
      assert.equal(count(), 2 + 1, form);
    }
  }
});
