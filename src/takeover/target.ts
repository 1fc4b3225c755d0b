import type { ServerIdentity } from "../model/artefact.ts";
import type { Acceptance } from "../model/findings.ts";
import type { Entries } from "../model/journal.ts";
import type { NodeTenant, PlannedMove } from "../model/nova/host-move.ts";
import type { NovaIdentity } from "../model/nova/nova-plan.ts";
import type { MovePlan } from "../run/host-files.ts";
import type { Database } from "../systems/database/open.ts";
import type { MoveFacts, MoveRequest } from "./rules/move-hosts.ts";
import type { createMoves } from "./rules/moves.ts";

export interface MoveScope {
  readonly from?: string;
  readonly node?: readonly string[];
}

type Hosts = ReturnType<ReturnType<typeof createMoves>["hosts"]>;

interface MovePlanner {
  /** In pages. @throws MigrationError N2I-E306 for a machine that does not exist */
  readonly machines: (scope: MoveScope) => AsyncIterable<readonly PlannedMove[]>;
  readonly hosts: (from: readonly string[]) => Hosts | Promise<Hosts>;
}

export interface Compared {
  readonly plans: readonly [MovePlan, ...(readonly MovePlan[])];
  readonly hosts: MoveFacts["hosts"];
  readonly entries: Entries;
}

/** The machines of one variant with open databases, for operations on both variants. */
export interface MoveTarget {
  readonly variant: "ironic" | "baremetal";
  readonly database: Database;
  readonly identity: NovaIdentity;
  readonly source?: ServerIdentity;
  /** nova_bm with leases, in autocommit mode. */
  readonly leases?: Database;
  readonly readFacts: () => Promise<MoveFacts>;
  /** The part of `readFacts` that an agent reads often, without compute nodes. */
  readonly aggregates: () => Promise<MoveFacts["aggregates"]>;
  /** Reads the instance of each Ironic node; null if Ironic was not specified. */
  readonly tenants: ((nodes: readonly string[]) => Promise<ReadonlyMap<string, NodeTenant>>) | null;
  readonly planner: (
    facts: MoveFacts,
    request: MoveRequest,
    acceptances: (machine: string, from: string) => readonly Acceptance[],
  ) => Promise<MovePlanner>;
}
