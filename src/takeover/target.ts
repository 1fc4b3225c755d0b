import type { ServerIdentity } from "../model/artefact.ts";
import type { Acceptance } from "../model/finding.ts";
import type { Entries } from "../model/journal.ts";
import type { NodeTenant, PlannedMove } from "../model/nova/host-move.ts";
import type { NovaIdentity } from "../model/nova/nova-plan.ts";
import type { MovePlan } from "../run/host-files.ts";
import type { Database } from "../systems/database/open.ts";
import type { openMachines } from "../systems/nova-db/machines.ts";
import type { MoveAsked, MoveWorld } from "./rules/move-hosts.ts";
import type { createMoves } from "./rules/moves.ts";

/** Options that name the machines of a plan. */
export interface MoveScope {
  readonly from?: string;
  readonly node?: readonly string[];
}

type Hosts = ReturnType<ReturnType<typeof createMoves>["hosts"]>;

/** Judges the machines of a plan. */
interface MovePlanner {
  /** In pages. @throws MigrationError N2I-E306 for a machine that does not exist */
  readonly machines: (scope: MoveScope) => AsyncIterable<readonly PlannedMove[]>;
  /** About the hosts that machines leave: how each was observed, its findings, the steps that fence it. */
  readonly hosts: (from: readonly string[]) => Hosts | Promise<Hosts>;
}

/** What is compared with the machines as they are. */
export interface Compared {
  /** The present one first. */
  readonly plans: readonly [MovePlan, ...(readonly MovePlan[])];
  readonly hosts: MoveWorld["hosts"];
  readonly entries: Entries;
}

/** The machines of one variant, with their databases open: each operation is written once over it. */
export interface MoveTarget {
  readonly variant: "ironic" | "baremetal";
  readonly database: Database;
  readonly identity: NovaIdentity;
  /** Of nova_bm, where its machines are moved. */
  readonly source?: ServerIdentity;
  /** nova_bm, extended; each statement is a transaction. */
  readonly leases?: Database;
  readonly world: () => Promise<MoveWorld>;
  /** The part of `world` that an agent reads often: it reads no compute nodes. */
  readonly aggregates: () => Promise<MoveWorld["aggregates"]>;
  readonly machines: () => ReturnType<typeof openMachines>;
  /** Reads the instance that each node of Ironic names; null if Ironic's location is not given. */
  readonly tenants: ((nodes: readonly string[]) => Promise<ReadonlyMap<string, NodeTenant>>) | null;
  readonly planner: (
    world: MoveWorld,
    request: MoveAsked,
    acceptances: (machine: string, from: string) => readonly Acceptance[],
  ) => Promise<MovePlanner>;
}
