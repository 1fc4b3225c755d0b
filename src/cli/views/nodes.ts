import { type Json, objectOf } from "../../lib/json.ts";
import { type Columns, type View, viewOf } from "../../lib/table/table.ts";
import type { AdoptableRow, RunningNode } from "../../model/ironic/adoptable.ts";
import type { ManagedOne } from "../../model/ironic/manage.ts";
import { maskedText } from "../../model/ironic/masked.ts";
import type { HardwareDifference, SpareClass } from "../../model/switchover.ts";
import { nodeName } from "../../switchover/rules/spares.ts";
import type { SwitchStepRow } from "../../switchover/rules/switching.ts";

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
  if (!all) return viewOf(ADOPTABLE, rows);
  const whole: Columns<AdoptableRow> = {
    ...ADOPTABLE,
    "Why not": ({ whyNot }) => whyNot.join("; "),
  };
  return viewOf(whole, rows);
}

/** Masked, because it may be a path or an address. */
function imageOf({ instance_info: { image_source } }: RunningNode): Json {
  return typeof image_source === "string" ? maskedText(image_source) : null;
}

const MANAGED: Columns<ManagedOne> = {
  UUID: ({ node }) => node,
  Name: ({ name }) => name,
  Server: ({ server }) => server,
  Result: ({ became }) => became,
  Why: ({ why }) => why,
};

export function managedView(rows: readonly ManagedOne[]): View {
  return viewOf(MANAGED, rows);
}

const SPARES: Columns<SpareClass> = {
  "Resource Class": ({ example }) => example.told.resource_class ?? null,
  Driver: ({ example }) => example.told.driver ?? null,
  CPUs: propertyOf("cpus"),
  "Memory MB": propertyOf("memory_mb"),
  Machines: ({ machines }) => machines,
  Example: ({ example }) => nodeName(example),
  Spares: ({ candidates }) => candidates.length,
  Candidates: ({ candidates }) => candidates.map(nodeName).join(", "),
};

/** Spares by hardware class; `all` adds the nearest mismatch. */
export function sparesView(classes: readonly SpareClass[], all: boolean): View {
  if (!all) return viewOf(SPARES, classes);
  const whole: Columns<SpareClass> = {
    ...SPARES,
    "Why not": ({ nearest }) =>
      nearest === null ? "" : `${nodeName(nearest.spare)}: ${nearest.why}`,
  };
  return viewOf(whole, classes);
}

function propertyOf(name: string): (row: SpareClass) => Json {
  return ({ example: { told } }) => objectOf(told.properties)[name] ?? null;
}

const STEPS: Columns<SwitchStepRow> = {
  Step: ({ step }) => step,
  Call: ({ call }) => call,
  Before: ({ before }) => before,
  After: ({ after }) => after,
};

const DIFFERENCES: Columns<HardwareDifference> = {
  Field: ({ field }) => field,
  Source: ({ source }) => source,
  Destination: ({ destination }) => destination,
};

export function stepsView(rows: readonly SwitchStepRow[]): View {
  return viewOf(STEPS, rows);
}

export function differencesView(rows: readonly HardwareDifference[]): View {
  return viewOf(DIFFERENCES, rows);
}
