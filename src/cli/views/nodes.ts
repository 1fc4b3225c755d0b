import { type Json, objectOf } from "../../lib/json.ts";
import { type Columns, rowsOf, type View, viewOf } from "../../lib/table/table.ts";
import type { AdoptableRow, ManagedOne, RunningNode } from "../../model/ironic/manage.ts";
import { maskedText } from "../../model/ironic/masked.ts";
import type { HardwareDifference, SpareClass } from "../../model/switchover.ts";
import { nodeName } from "../../switchover/rules/spares.ts";
import type { stepRows } from "../../switchover/rules/steps.ts";

const ADOPTABLE: Columns<AdoptableRow> = {
  UUID: ({ node }) => node.uuid,
  Name: ({ node }) => node.name,
  "Power State": ({ node }) => node.power_state,
  "Provision State": ({ node }) => node.provision_state,
  Image: ({ node }) => imageOf(node),
  "Resource Class": ({ node }) => node.resource_class,
  Ports: ({ node }) =>
    node.nics
      .map(({ address, vif }) => `${address ?? "no address"}${vif === null ? "" : ` ${vif}`}`)
      .join(", "),
};

/** Machines without a server record; `all` adds the other machines with the reasons. */
export function adoptableView(rows: AsyncIterable<AdoptableRow>, all: boolean): View {
  const reasonColumn: Columns<AdoptableRow> = { "Why not": ({ reasons }) => reasons.join("; ") };
  return viewOf(all ? { ...ADOPTABLE, ...reasonColumn } : ADOPTABLE, rows);
}

/** Masked, because it may be a path or an address. */
function imageOf({ instance_info: { image_source } }: RunningNode): Json {
  return typeof image_source === "string" ? maskedText(image_source) : null;
}

export function managedView(rows: readonly ManagedOne[]): View {
  const columns = ["UUID", "Name", "Server", "Result", "Why"];
  return rowsOf(columns, rows, (it) => [it.node, it.name, it.server, it.outcome, it.reason]);
}

const SPARES: Columns<SpareClass> = {
  "Resource Class": ({ example }) => example.body.resource_class ?? null,
  Driver: ({ example }) => example.body.driver ?? null,
  CPUs: propertyOf("cpus"),
  "Memory MB": propertyOf("memory_mb"),
  Machines: ({ machines }) => machines,
  Example: ({ example }) => nodeName(example),
  Spares: ({ candidates }) => candidates.length,
  Candidates: ({ candidates }) => candidates.map(nodeName).join(", "),
};

/** Spares by hardware class; `all` adds the nearest mismatch. */
export function sparesView(classes: readonly SpareClass[], all: boolean): View {
  const nearestOf = ({ nearest }: SpareClass): string =>
    nearest === null ? "" : `${nodeName(nearest.spare)}: ${nearest.reason}`;
  return viewOf(all ? { ...SPARES, "Why not": nearestOf } : SPARES, classes);
}

function propertyOf(name: string): (row: SpareClass) => Json {
  return ({ example: { body } }) => objectOf(body.properties)[name] ?? null;
}

export function stepsView(rows: ReturnType<typeof stepRows>): View {
  return rowsOf(["Step", "Call", "Before", "After"], rows, (it) => it);
}

export function differencesView(rows: readonly HardwareDifference[]): View {
  const columns = ["Field", "Source", "Destination"];
  return rowsOf(columns, rows, (it) => [it.field, it.source, it.destination]);
}
