import assert from "node:assert/strict";
import { test } from "node:test";
import { novaPlanOf } from "../../src/migrate/hosts/nova-files.ts";
import { tenantsOf, withNovaBackend } from "../../src/migrate/hosts/nova-side.ts";
import { choiceOf } from "../../src/migrate/hosts/rules/choice.ts";
import type { PlannedMachine } from "../../src/model/plan.ts";
import { inRun, openPlan } from "../../src/run/run.ts";
import { withSession } from "../../src/run/session.ts";
import { caseUuid } from "../cases/case.ts";
import { plannedCloud } from "../migrate/nova/planned.ts";

const MACHINE: PlannedMachine = {
  ...{ bm_node_id: 1, uuid: null, service_host: null, verdict: "create", reason: null },
  ...{ state: { row: "free", outcome: "available" }, records: [], findings: [] },
};

test("Nova is compared with the machines to load, each with its place in the plan", async () => {
  const line = (bm_node_id: number) => ({ ...MACHINE, bm_node_id }) satisfies PlannedMachine;
  async function* lines() {
    yield await Promise.resolve([line(1), { ...line(2), verdict: "unchanged" as const }]);
    yield [line(3)];
  }
  const placed = await tenantsOf(lines, choiceOf([]));
  assert.deepEqual(
    placed.map(({ at, bm_node_id }) => [at, bm_node_id]),
    [
      [0, 1],
      [2, 3],
    ],
  );
});

test("a tenant that came amid the watch is met, although the plan was read before it", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const { run: folder, novaWriter, nova } = made;
  const uuid = caseUuid("instance", 90);
  let isPresent = false;
  const come = async (): Promise<void> => {
    const tenant = await nova.db("instances").where({ id: 1 }).first();
    await nova.db("instances").insert({ ...tenant, id: 90, uuid });
    isPresent = true;
  };
  const watching = {
    ...{ seconds: 3600, allowed: false },
    report: (text: string) => void (text.startsWith("Watching") && come()),
  };
  const words = { novaDb: novaWriter[1] ?? "", leaveNova: false, confirm: () => Promise.resolve() };
  await inRun(folder, "apply", { kind: "migration" }, async (run) => {
    const { footer, lines } = await openPlan(`${folder}/plan`);
    const file = await novaPlanOf(run, footer);
    await withSession(run, (session) =>
      withNovaBackend(
        run,
        { ...session, stopping: () => isPresent },
        file,
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
});
