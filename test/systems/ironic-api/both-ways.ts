import { back } from "../../../src/engine/back.ts";
import { forward } from "../../../src/engine/forward.ts";
import type { Leg, Session } from "../../../src/engine/part.ts";
import { gather } from "../../../src/engine/runner.ts";
import { ironicLeg, ironicPart } from "../../../src/migrate/apply/ironic-target.ts";
import { loadMappings } from "../../../src/migrate/open/documents.ts";
import type { Entry } from "../../../src/model/journal.ts";
import type { PlannedMachine, PlannedRecord, Step } from "../../../src/model/plan.ts";
import type { Failpoint } from "../../../src/systems/ironic-api/node.ts";
import { createRestTarget } from "../../../src/systems/ironic-api/target.ts";
import type { Living, machineOf } from "./living.ts";

const { rest: REST } = await loadMappings();

type Made = ReturnType<typeof machineOf>;

/** A plan of these machines; its journal is kept in memory. */
export function bothWays({ link, seal }: Living, machines: readonly Made[]) {
  const entries: Entry[] = [];
  const lines = machines.map(lineOf);
  async function* plan(): AsyncGenerator<readonly PlannedMachine[]> {
    yield lines;
  }
  const session: Session = {
    journal: { entries: () => [...entries], append: async (entry) => void entries.push(entry) },
    now: () => "2026-11-21T00:00:00Z",
    by: "a test",
    stopping: () => false,
  };
  const legOf = (failpoint: Failpoint | undefined): Leg<Step, PlannedMachine> => {
    const target = createRestTarget(link.service, REST, seal, { inFlight: 1 }, failpoint);
    return {
      ...ironicLeg(ironicPart(target), { sha256: "plan", lines: plan }),
      ...{ check: () => Promise.resolve(), precondition: () => Promise.resolve() },
    };
  };
  const all = { all: true, selects: () => true };
  return {
    journal: (): readonly Entry[] => entries,
    apply: (failpoint?: Failpoint) => gather(forward(legOf(failpoint), session)),
    rollback: (failpoint?: Failpoint) => gather(back(legOf(failpoint), session, all)),
  };
}

function lineOf({ uuid, node, ports }: Made, at: number): PlannedMachine {
  const record = (resource: "node" | "port", row: PlannedRecord["row"]): PlannedRecord => ({
    ...{ resource, row, id: `${resource}:${String(row.uuid)}` },
    ...{ change: "create", origins: [] },
  });
  return {
    ...{ bm_node_id: at + 1, uuid, service_host: null, verdict: "create", reason: null },
    state: { row: "in use", outcome: "active" },
    records: [record("node", node), ...ports.map((row) => record("port", row))],
    findings: [],
  };
}
