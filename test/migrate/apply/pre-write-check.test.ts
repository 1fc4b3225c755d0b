import assert from "node:assert/strict";
import { test } from "node:test";
import { MigrationError } from "../../../src/lib/error.ts";
import {
  countForeignNodes,
  findConductors,
  foreignNodesFirst,
} from "../../../src/migrate/apply/pre-write-check.ts";
import type { Footer, PlanCounts, TargetIdentity } from "../../../src/model/artefact.ts";
import type { Conductor } from "../../../src/model/ironic/service.ts";
import type { Target } from "../../../src/model/ironic/target.ts";
import type { Entry } from "../../../src/model/journal.ts";
import type { Row } from "../../../src/model/machine.ts";
import type { PlannedMachine } from "../../../src/model/plan.ts";

const RUN = { path: "/nowhere" };
const [OURS, THEIRS] = ["a-1", "z-1"];
const MACHINE: PlannedMachine = {
  ...{ bm_node_id: 1, uuid: OURS, service_host: "c-1", verdict: "create", reason: null },
  ...{ state: { row: "free", outcome: "free" }, findings: [] },
  records: [
    { resource: "node", id: `node:${OURS}`, row: { uuid: OURS }, origins: [], change: "create" },
  ],
};
/** Of it only the engine is looked at, which says how long a batch is. */
const identity = { engine: "mysql" } as TargetIdentity;

function holding(nodes: readonly string[]): Pick<Target, "identity" | "counts" | "current"> {
  return {
    identity,
    counts: () => Promise.resolve({ nodes: nodes.length, ports: 0 }),
    current: ({ uuids }) =>
      Promise.resolve({
        nodes: nodes.filter((uuid) => uuids.includes(uuid)).map((uuid) => ({ uuid })),
        ports: [],
      }),
  };
}

test("a node that was lost and loaded again by a plan made later hides no node of others", async () => {
  const [earlier, later] = ["a".repeat(64), "b".repeat(64)];
  const entries = [earlier, later].flatMap((plan): readonly Entry[] => {
    const about = { part: "ironic", plan, from: 0, to: 1, at: "2026-11-21T00:00:00Z" };
    return [
      { do: "begin", ...about, by: "root@host" },
      { do: "done", ...about, created: 1, found: [] },
    ];
  });
  const plans = [earlier, later].map((sha256) => ({
    sha256,
    async *lines() {
      yield await Promise.resolve([MACHINE]);
    },
  }));
  const count = (nodes: readonly string[]) =>
    countForeignNodes(holding(nodes), entries, plans, () => undefined);
  assert.equal(await count([OURS, THEIRS]), 1);
  assert.equal(await count([OURS]), 0);
  assert.equal(await count([THEIRS]), 1);
});

test("others are looked for before a row is made where the journal says how many nodes are ours, else at once", async () => {
  const sha256 = "a".repeat(64);
  const about = { part: "ironic", plan: sha256, from: 0, to: 1, at: "2026-11-21T00:00:00Z" };
  const begun: Entry = { do: "begin", ...about, by: "root@host" };
  const done = { do: "done", ...about, created: 1 } as const;
  const loaded: readonly Entry[] = [begun, { ...done, found: [] }];
  const later = { ...begun, plan: "b".repeat(64) };
  const undone = { do: "undone", ...about, removed: 1, gone: 0, settled: [] } as const;
  const footer = { footer: { nodes: 2 }, sha256 } as Footer<PlanCounts>;
  const backend = { oldest: () => Promise.resolve([]) };
  const look = async (entries: readonly Entry[], nodes: readonly string[]) => {
    // The run has no plan: whoever looks takes all for others'.
    const target = holding(nodes) as Target;
    const making = foreignNodesFirst(RUN, backend, target, entries, footer);
    return making.then(
      (run) =>
        run().then(
          () => "never",
          () => "before",
        ),
      () => "at once",
    );
  };
  assert.equal(await look(loaded, [OURS]), "before");
  assert.equal(await look(loaded, [OURS, THEIRS]), "before");
  assert.equal(await look(loaded, [OURS, THEIRS, "z-2"]), "at once");
  for (const entries of [
    ...[
      [],
      [later],
      [...loaded, later],
      [later, ...loaded],
      [begun, { ...done, found: [`node:${OURS}`] }],
    ],
    [...loaded, { do: "aborted", ...about, why: "refused", rows: [`node:${OURS}`] } as const],
    [
      ...loaded,
      { do: "undo", ...about, by: "", nodes: "all" } as const,
      { ...undone, conflicts: [] },
    ],
    [...loaded, { ...undone, conflicts: [`node:${OURS}`] }],
  ])
    assert.equal(await look(entries, [OURS]), "at once", JSON.stringify(entries));
});

const NODE: Row = {
  ...{ uuid: "a", driver: "ipmi", conductor_group: "rack-b", provision_state: "active" },
};
const LAB: Conductor = { hostname: "lab", group: "rack-b", alive: true, drivers: ["ipmi"] };

async function refusal(
  conductors: readonly Conductor[],
  nodes: readonly Row[] = [],
  engine: "rest" | "sqlite" = "rest",
): Promise<string | null> {
  const plan = async function* (): AsyncGenerator<readonly PlannedMachine[]> {
    yield [{ ...MACHINE, records: MACHINE.records.map((record) => ({ ...record, row: NODE })) }];
  };
  const look = findConductors(plan, {
    identity: { ...identity, engine },
    service: () => Promise.resolve({ conductors, interfaces: null, reserved: [] }),
    current: () => Promise.resolve({ nodes, ports: [] }),
  });
  return look.then(
    () => null,
    (error: unknown) => (error instanceof MigrationError ? error.message : String(error)),
  );
}

test("a machine can be adopted by a living conductor of its group, or where groups are not told", async () => {
  assert.equal(await refusal([LAB]), null);
  assert.equal(await refusal([{ ...LAB, group: null }]), null);
  const told = /^no conductor is alive for ipmi of conductor group "rack-b" \(1 machine\)$/;
  assert.match((await refusal([])) ?? "", told);
  assert.match((await refusal([{ ...LAB, alive: false }])) ?? "", told);
  assert.match((await refusal([{ ...LAB, group: "" }])) ?? "", told);
  assert.match((await refusal([{ ...LAB, drivers: ["redfish"] }])) ?? "", told);
});

test("a machine that was adopted before, or is loaded into a database, needs no living conductor", async () => {
  assert.equal(await refusal([], [NODE]), null);
  assert.notEqual(await refusal([], [{ ...NODE, provision_state: "manageable" }]), null);
  assert.equal(await refusal([], [], "sqlite"), null);
});
