import { randomUUID } from "node:crypto";
import type { Knex } from "knex";

/** A node of the fleet in Ironic's database, under the hands of somebody else. */
export interface Hand {
  readonly db: Knex;
  readonly id: number;
  readonly uuid: string;
}

/** What was done to a loaded machine, and what a rollback makes of it. */
export interface Deed {
  readonly what: string;
  readonly work: (hand: Hand) => Promise<unknown>;
  /** Why its rows are left; null: they are removed all the same. */
  readonly left: RegExp | null;
}

const node =
  (change: { readonly [column: string]: string | boolean | number | null }) =>
  ({ db, id }: Hand): Promise<unknown> =>
    db("nodes").where({ id }).update(change);

/** Changes one JSON column of the node by one key. */
const key =
  (column: string, name: string, value: unknown) =>
  async ({ db, id }: Hand): Promise<void> => {
    const row = await db("nodes").where({ id }).first(column);
    const json: unknown = JSON.parse(row?.[column] ?? "{}");
    await db("nodes")
      .where({ id })
      .update({ [column]: JSON.stringify({ ...Object(json), [name]: value }) });
  };

const child =
  (table: string, row: (hand: Hand) => { readonly [column: string]: unknown }) =>
  (hand: Hand): Promise<unknown> =>
    hand.db(table).insert({ node_id: hand.id, ...row(hand) });

/** Something different for each machine, on a 2023.1 Ironic. @source facts/ironic.md 1.6, 2.2 */
export const DEEDS: readonly Deed[] = [
  {
    what: "its provision_state was changed",
    work: node({ provision_state: "deleting" }),
    left: /changed since it was loaded: provision_state/,
  },
  {
    what: "its BMC's address was changed",
    work: key("driver_info", "ipmi_address", "10.9.9.9"),
    left: /changed since it was loaded: driver_info.ipmi_address/,
  },
  {
    what: "a key was added to its driver_info",
    work: key("driver_info", "ipmi_port", 623),
    left: /changed since it was loaded: driver_info.ipmi_port/,
  },
  {
    what: "it was taken into maintenance",
    work: node({ maintenance: true }),
    left: /changed since it was loaded: maintenance/,
  },
  {
    what: "a port was added to it",
    work: child("ports", () => ({ uuid: randomUUID(), address: "52:54:ff:00:00:77" })),
    left: /port [0-9a-f-]{36} was added to it/,
  },
  {
    what: "its port was changed",
    work: ({ db, id }) => db("ports").where({ node_id: id }).update({ pxe_enabled: false }),
    left: /changed since it was loaded: pxe_enabled/,
  },
  {
    what: "a conductor has reserved it",
    work: node({ reservation: "conductor-1" }),
    left: /reserved by conductor conductor-1/,
  },
  {
    what: "it was given a trait",
    work: child("node_traits", () => ({ trait: "CUSTOM_GOLD", version: "1.0" })),
    left: /node_traits has rows of it/,
  },
  {
    what: "it was given a tag",
    work: child("node_tags", () => ({ tag: "rack-7" })),
    left: /node_tags has rows of it/,
  },
  {
    what: "its power_state was recorded",
    work: node({ power_state: "power on" }),
    left: null,
  },
  {
    what: "a conductor took it over",
    work: async ({ db, id }) => {
      const conductor = await db("conductors").first("id");
      await db("nodes").where({ id }).update({ conductor_affinity: conductor?.id });
    },
    left: null,
  },
  {
    what: "its vendor was found out",
    work: key("properties", "vendor", "Supermicro"),
    left: null,
  },
  {
    what: "its image's type was written",
    work: key("instance_info", "image_type", "partition"),
    left: null,
  },
  {
    what: "its power could not be read for long",
    work: node({
      maintenance: true,
      maintenance_reason: "During sync_power_state, max retries exceeded for node",
      fault: "power failure",
    }),
    left: null,
  },
  {
    what: "it was inspected",
    work: key("properties", "capabilities", "boot_mode:uefi"),
    left: /changed since it was loaded: properties.capabilities/,
  },
  {
    what: "it was deployed anew",
    work: key("driver_internal_info", "deploy_steps", [{ step: "deploy" }]),
    left: /changed since it was loaded: driver_internal_info.deploy_steps/,
  },
  {
    what: "its history was written",
    work: child("node_history", () => ({ uuid: randomUUID(), event: "power", severity: "ERROR" })),
    left: null,
  },
  {
    what: "its BIOS settings were read",
    work: child("bios_settings", () => ({ name: "virt", value: "on" })),
    left: null,
  },
  {
    what: "its default interfaces were filled in",
    work: node({ power_interface: "ipmitool", updated_at: "2026-01-01 00:00:00" }),
    left: null,
  },
  {
    what: "it was deleted",
    work: async ({ db, id }) => {
      await db("ports").where({ node_id: id }).delete();
      await db("nodes").where({ id }).delete();
    },
    left: null,
  },
  { what: "nobody touched it", work: () => Promise.resolve(), left: null },
];
