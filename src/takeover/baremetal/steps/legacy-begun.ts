import { type Begun, begunIn } from "../../../engine/begun.ts";
import { isObject, type Json, type JsonObject } from "../../../lib/json.ts";
import { stepsOf } from "../../../migrate/boot/boot-steps.ts";
import type { BootStep } from "../../../model/boot.ts";
import type { MovedPort, PortPlace } from "../../../model/ironic/port-place.ts";
import type { Entries } from "../../../model/journal.ts";
import type { LegacyMove, LegacyTenantMove } from "../../../model/nova/legacy-move.ts";
import type { NovaStep } from "../../../model/nova/nova-plan.ts";
import { fields, malformed } from "../../../run/files/journal-entries.ts";

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
export function begunMachines(ours: ReadonlyMap<string, Begun>): readonly LegacyMachine[] {
  return [...ours].map(([id, begun]) => machineOf(id, begun)).toReversed();
}

export function stillMoved(entries: Entries): readonly LegacyMachine[] {
  return begunMachines(begunIn(entries, LEGACY));
}

function machineOf(id: string, { observed }: Begun): LegacyMachine {
  const place = `journal, move of ${id}`;
  // The oldest, because a later start may have observed its own changes.
  const [first] = observed;
  if (!isObject(first?.move)) throw malformed(place, "move");
  const computes = observed.findLast((one) => Array.isArray(one.computes))?.computes ?? [];
  const built = observed.filter((one) => "steps" in one);
  const tree = built.at(-1)?.tree;
  if (built.length > 0 && typeof tree !== "string") throw malformed(place, "tree");
  return {
    ...{ id, move: parseMove(first.move, place), computes: stepsIn(computes, place) },
    files:
      typeof tree === "string"
        ? { root: tree, steps: stepsOf(id, { observed: built, open: false }) }
        : null,
    ports: portsIn(observed, place),
  };
}

/** The values before the first change. */
function portsIn(observed: Begun["observed"], place: string): readonly MovedPort[] {
  const first = new Map<string, MovedPort>();
  for (const { ports } of observed) {
    if (ports === undefined) continue;
    if (!Array.isArray(ports)) throw malformed(place, "ports");
    for (const one of ports as readonly Json[]) {
      const [before, after] = isObject(one) ? [placeIn(one.before), placeIn(one.after)] : [];
      const port = isObject(one) ? one.port : null;
      if (typeof port !== "string" || !before || !after) throw malformed(place, "ports");
      if (!first.has(port)) first.set(port, { port, before, after });
    }
  }
  return [...first.values()];
}

function placeIn(value: Json | undefined): PortPlace | null {
  if (!isObject(value) || typeof value.host !== "string" || !isObject(value.options)) return null;
  const options = Object.entries(value.options).map(
    ([name, said]) => [name, typeof said === "string" ? said : null] as const,
  );
  return { host: value.host, options: Object.fromEntries(options) };
}

function parseMove(line: JsonObject, place: string): LegacyMove {
  const { text, number } = fields(line, place);
  const { tenant } = line;
  return {
    ...{ id: number("id"), uuid: text("uuid"), from: text("from"), to: text("to") },
    ...{ epoch: number("epoch"), begun: line.begun === true },
    ...{ before: orNone(line, "before", place), after: orNone(line, "after", place) },
    tenant: isObject(tenant) ? parseTenant(tenant, place) : null,
    boots: line.boots === true,
  };
}

function parseTenant(line: JsonObject, place: string): LegacyTenantMove {
  const { text, number } = fields(line, `${place} tenant`);
  return {
    ...{ id: number("id"), uuid: text("uuid"), node: text("node"), host: text("host") },
    ...{ locked: line.locked === true, task_state: orNone(line, "task_state", place) },
    ...(line.request !== undefined && { request: text("request") }),
    ...{ before: orNone(line, "before", place), after: orNone(line, "after", place) },
  };
}

function orNone(line: JsonObject, name: string, place: string): string | null {
  const value = line[name];
  if (value === null || typeof value === "string") return value;
  throw malformed(place, name);
}

/** Only compute nodes: a rollback writes no other rows from the journal. */
function stepsIn(value: Json, place: string): readonly NovaStep[] {
  if (!Array.isArray(value)) throw malformed(place, "computes");
  const steps = value as readonly Json[];
  for (const step of steps) {
    if (!isObject(step) || step.table !== "compute_nodes" || !isObject(step.key))
      throw malformed(place, "computes");
    if (!isObject(step.before) || !isObject(step.after)) throw malformed(place, "computes");
    fields(step.key, place).number("id");
    fields(step, place).text("id");
  }
  return steps as readonly object[] as readonly NovaStep[]; // checked above
}
