import { type Json, objectOf } from "../../lib/json.ts";
import { type Columns, viewer } from "../../lib/table/table.ts";
import type { AdoptableRow, ManagedOne } from "../../model/ironic/manage.ts";
import { maskedText } from "../../model/ironic/masked.ts";
import type { HardwareDifference, SpareClass } from "../../model/switchover.ts";
import { nodeName } from "../../switchover/rules/spares.ts";
import type { stepRows } from "../../switchover/rules/steps.ts";

const ADOPTABLE: Columns<AdoptableRow> = {
  UUID: ({ node }) => node.uuid,
  Name: ({ node }) => node.name,
  "Power State": ({ node }) => node.power_state,
  "Provision State": ({ node }) => node.provision_state,
  // Masked, because it may be a path or an address.
  Image: ({
    node: {
      instance_info: { image_source },
    },
  }) => (typeof image_source === "string" ? maskedText(image_source) : null),
  "Resource Class": ({ node }) => node.resource_class,
  Ports: ({ node }) =>
    node.nics
      .map(({ address, vif }) => `${address ?? "no address"}${vif === null ? "" : ` ${vif}`}`)
      .join(", "),
};

/** Machines without a server record; `all` adds the other machines with the reasons. */
export function adoptableView(rows: AsyncIterable<AdoptableRow>, all: boolean) {
  const reasonColumn: Columns<AdoptableRow> = { "Why not": ({ reasons }) => reasons.join("; ") };
  return viewer(all ? { ...ADOPTABLE, ...reasonColumn } : ADOPTABLE)(rows);
}

export const managedView = viewer<ManagedOne>({
  ...{ UUID: "node", Name: "name", Server: "server", Result: "outcome", Why: "reason" },
});

const SPARES: Columns<SpareClass> = {
  "Resource Class": ({ example }) => example.body.resource_class ?? null,
  Driver: ({ example }) => example.body.driver ?? null,
  CPUs: propertyOf("cpus"),
  "Memory MB": propertyOf("memory_mb"),
  Machines: "machines",
  Example: ({ example }) => nodeName(example),
  Spares: ({ candidates }) => candidates.length,
  Candidates: ({ candidates }) => candidates.map(nodeName).join(", "),
};

/** Spares by hardware class; `all` adds the nearest mismatch. */
export function sparesView(classes: readonly SpareClass[], all: boolean) {
  const nearestOf = ({ nearest }: SpareClass): string =>
    nearest === null ? "" : `${nodeName(nearest.spare)}: ${nearest.reason}`;
  return viewer(all ? { ...SPARES, "Why not": nearestOf } : SPARES)(classes);
}

function propertyOf(name: string): (row: SpareClass) => Json {
  return ({ example: { body } }) => objectOf(body.properties)[name] ?? null;
}

export const stepsView = viewer<ReturnType<typeof stepRows>[number]>({
  ...{ Step: "0", Call: "1", Before: "2", After: "3" },
});

export const differencesView = viewer<HardwareDifference>({
  ...{ Field: "field", Source: "source", Destination: "destination" },
});
