import type { Json } from "../../lib/json.ts";
import { type Columns, type View, viewOf } from "../../lib/table/table.ts";
import type { AdoptableRow, RunningNode } from "../../model/ironic/adoptable.ts";
import type { ManagedOne } from "../../model/ironic/manage.ts";
import { maskedText } from "../../model/ironic/masked.ts";

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

/** Machines that run already and can be given a server record; with `all` the others, and why not. */
export function adoptableView(rows: AsyncIterable<AdoptableRow>, all: boolean): View {
  if (!all) return viewOf(ADOPTABLE, rows);
  const whole: Columns<AdoptableRow> = {
    ...ADOPTABLE,
    "Why not": ({ whyNot }) => whyNot.join("; "),
  };
  return viewOf(whole, rows);
}

/** As Ironic was told where it is; a path or an address may be one. */
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
