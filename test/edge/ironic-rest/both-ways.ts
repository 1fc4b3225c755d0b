import { loadMappings } from "../../../src/cli/wire/documents.ts";
import { type Acting, type Applied, apply } from "../../../src/core/apply/apply.ts";
import { type Undone, undo } from "../../../src/core/apply/undo.ts";
import { createRestTarget, type Failpoint } from "../../../src/edge/ironic-rest/target.ts";
import type { JournalEntry } from "../../../src/model/artefact.ts";
import type { PlannedMachine, PlannedRecord } from "../../../src/model/plan.ts";
import type { Living, machineOf } from "./living.ts";

/** Apply and rollback of one plan, with the journal between them. */
export interface BothWays {
  readonly journal: () => readonly JournalEntry[];
  readonly apply: (failpoint?: Failpoint) => Promise<Applied>;
  readonly rollback: (failpoint?: Failpoint) => Promise<Undone>;
}

type Made = ReturnType<typeof machineOf>;

/** A plan of these machines; its journal is kept in memory. */
export function bothWays({ road, seal }: Living, machines: readonly Made[]): BothWays {
  const entries: JournalEntry[] = [];
  const lines = machines.map(lineOf);
  async function* plan(): AsyncGenerator<readonly PlannedMachine[]> {
    yield lines;
  }
  const acting = (failpoint: Failpoint | undefined): Acting => {
    const target = createRestTarget(road.service, loadMappings().rest, seal, 1, failpoint);
    return {
      target,
      lock: { check: () => Promise.resolve(), release: () => Promise.resolve() },
      journal: {
        entries: () => [...entries],
        append: async (entry) => void entries.push(entry),
      },
      now: () => "2026-11-21T00:00:00Z",
      by: "a test",
      stopping: () => false,
      progress: () => {},
      guard: () => Promise.resolve(),
    };
  };
  const all = { all: true, wants: () => true };
  return {
    journal: () => entries,
    apply: (failpoint) => apply(plan(), "plan", acting(failpoint)),
    rollback: (failpoint) => undo(plan(), "plan", all, acting(failpoint)),
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
