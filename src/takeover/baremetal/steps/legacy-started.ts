import { type StartedChange, startedChangesIn } from "../../../engine/started.ts";
import { isObject, type Json, type JsonObject, textOrNull } from "../../../lib/json.ts";
import { stepsOf } from "../../../migrate/boot/boot-steps.ts";
import type { BootStep } from "../../../model/boot.ts";
import type { MovedPort, PortBinding } from "../../../model/ironic/port-binding.ts";
import type { Entries } from "../../../model/journal.ts";
import type { LegacyMove } from "../../../model/nova/legacy-move.ts";
import type { NovaStep } from "../../../model/nova/nova-plan.ts";
import { formed, malformed } from "../../../run/files/journal-entries.ts";

/** Journal name of moved nova-baremetal machines. */
export const LEGACY = "host-machines";

export interface LegacyMachine {
  /** Node uuid. */
  readonly id: string;
  readonly move: LegacyMove;
  /** Changes of compute nodes that a rollback cannot derive from the rows. */
  readonly computes: readonly NovaStep[];
  /** Created boot files and their tree; null if none were started. */
  readonly files: { readonly root: string; readonly steps: readonly BootStep[] } | null;
  readonly ports: readonly MovedPort[];
}

export function moveJson(move: LegacyMove): JsonObject {
  return { ...move, tenant: move.tenant === null ? null : { ...move.tenant } };
}

/** Newest first, with the former state from the journal. @throws MigrationError N2I-E112 */
export function startedMachines(
  startedChanges: ReadonlyMap<string, StartedChange>,
): readonly LegacyMachine[] {
  return [...startedChanges].map(([id, started]) => machineOf(id, started)).toReversed();
}

export function movedMachines(entries: Entries): readonly LegacyMachine[] {
  return startedMachines(startedChangesIn(entries, LEGACY));
}

function machineOf(id: string, { observed }: StartedChange): LegacyMachine {
  const location = `journal, move of ${id}`;
  // The oldest, because a later start may have observed its own changes.
  const [first] = observed;
  if (!isObject(first?.move)) throw malformed(location, "move");
  const { tenant } = first.move;
  const move = {
    ...formed(first.move, MOVE, location),
    tenant: isObject(tenant) ? formed(tenant, TENANT, `${location} tenant`) : null,
  };
  const computes = observed.findLast((one) => Array.isArray(one.computes))?.computes ?? [];
  const built = observed.filter((one) => "steps" in one);
  const tree = built.at(-1)?.tree;
  if (built.length > 0 && typeof tree !== "string") throw malformed(location, "tree");
  return {
    ...{ id, move, computes: stepsIn(computes, location) },
    files:
      typeof tree === "string"
        ? { root: tree, steps: stepsOf(id, { observed: built, open: false }) }
        : null,
    ports: portsIn(observed, location),
  };
}

/** The values before the first change. */
function portsIn(observed: StartedChange["observed"], where: string): readonly MovedPort[] {
  const first = new Map<string, MovedPort>();
  for (const { ports = [] } of observed) {
    if (!Array.isArray(ports)) throw malformed(where, "ports");
    for (const one of ports as readonly Json[]) {
      if (!isObject(one)) throw malformed(where, "ports");
      const form = { port: "text", before: "object", after: "object" } as const;
      const { port, before, after } = formed(one, form, where);
      if (first.has(port)) continue;
      first.set(port, { port, before: bindingIn(before, where), after: bindingIn(after, where) });
    }
  }
  return [...first.values()];
}

function bindingIn(line: JsonObject, location: string): PortBinding {
  const { host, options } = formed(line, { host: "text", options: "object" }, location);
  const values = Object.entries(options).map(([name, value]) => [name, textOrNull(value)] as const);
  return { host, options: Object.fromEntries(values) };
}

const MOVE = {
  ...({ id: "number", uuid: "text", from: "text", to: "text", epoch: "number" } as const),
  ...({ before: "textOrNull", after: "textOrNull", begun: "boolean", boots: "boolean" } as const),
};

const TENANT = {
  ...({ id: "number", uuid: "text", node: "text", host: "text", locked: "boolean" } as const),
  ...({ task_state: "textOrNull", request: "text?" } as const),
  ...({ before: "textOrNull", after: "textOrNull" } as const),
};

/** Only compute nodes: a rollback writes no other rows from the journal. */
function stepsIn(value: Json, location: string): readonly NovaStep[] {
  if (!Array.isArray(value)) throw malformed(location, "computes");
  const form = { id: "text", key: "object", before: "object", after: "object" } as const;
  for (const step of value as readonly Json[]) {
    if (!isObject(step) || step.table !== "compute_nodes") throw malformed(location, "computes");
    formed(formed(step, form, location).key, { id: "number" }, location);
  }
  return value as readonly object[] as readonly NovaStep[]; // checked above
}
