import { type StartedChange, startedChangesIn } from "../../../engine/started.ts";
import { isObject, type JsonObject, textOrNull } from "../../../lib/json.ts";
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

/** Started moves, newest first, with the former state. @throws MigrationError N2I-E112 */
export function movedMachines(
  entries: Entries,
  { unfinished = false } = {},
): readonly LegacyMachine[] {
  return [...startedChangesIn(entries, LEGACY)]
    .filter(([, started]) => started.open || !unfinished)
    .map(([id, { observed }]) => machineOf(id, observed))
    .toReversed();
}

function machineOf(id: string, observed: StartedChange["observed"]): LegacyMachine {
  const location = `journal, move of ${id}`;
  const listOf = (value: unknown, name: string): readonly JsonObject[] => {
    if (Array.isArray(value) && value.every(isObject)) return value;
    throw malformed(location, name);
  };
  const bindingOf = (line: JsonObject): PortBinding => {
    const { host, options } = formed(line, { host: "text", options: "object" }, location);
    const values = Object.entries(options).map(([name, value]) => [name, textOrNull(value)]);
    return { host, options: Object.fromEntries(values) };
  };
  // The oldest, because a later start may have observed its own changes.
  const [first] = observed;
  if (!isObject(first?.move)) throw malformed(location, "move");
  const { tenant } = first.move;
  const move = {
    ...formed(first.move, MOVE, location),
    tenant: isObject(tenant) ? formed(tenant, TENANT, `${location} tenant`) : null,
  };
  const computes = observed.findLast((one) => Array.isArray(one.computes))?.computes ?? [];
  for (const step of listOf(computes, "computes")) {
    // A rollback writes no other rows from the journal.
    if (step.table !== "compute_nodes") throw malformed(location, "computes");
    formed(formed(step, COMPUTE, location).key, { id: "number" }, location);
  }
  const built = observed.filter((one) => "steps" in one);
  const root = built.at(-1)?.tree;
  if (built.length > 0 && typeof root !== "string") throw malformed(location, "tree");
  const steps = stepsOf(id, { observed: built, open: false });
  const ports = new Map<string, MovedPort>();
  for (const line of observed.flatMap((one) => listOf(one.ports ?? [], "ports"))) {
    const { port, before, after } = formed(line, PORT, location);
    // The values before the first change.
    if (!ports.has(port))
      ports.set(port, { port, before: bindingOf(before), after: bindingOf(after) });
  }
  return {
    ...{ id, move, computes: computes as readonly object[] as readonly NovaStep[] }, // checked above
    ...{ files: typeof root === "string" ? { root, steps } : null, ports: [...ports.values()] },
  };
}

const PORT = { port: "text", before: "object", after: "object" } as const;

const COMPUTE = { id: "text", key: "object", before: "object", after: "object" } as const;

const MOVE = {
  ...({ id: "number", uuid: "text", from: "text", to: "text", epoch: "number" } as const),
  ...({ before: "textOrNull", after: "textOrNull", begun: "boolean", boots: "boolean" } as const),
};

const TENANT = {
  ...({ id: "number", uuid: "text", node: "text", host: "text", locked: "boolean" } as const),
  ...({ task_state: "textOrNull", request: "text?" } as const),
  ...({ before: "textOrNull", after: "textOrNull" } as const),
};
