import { randomUUID } from "node:crypto";
import type { Knex } from "knex";

export interface Hand {
  readonly db: Knex;
  readonly id: number;
  readonly uuid: string;
}

/** What was done to a loaded machine, and why a rollback leaves its rows; null: it removes them anyway. */
type Deed = readonly [what: string, work: (hand: Hand) => Promise<unknown>, left: RegExp | null];

const node =
  (change: { readonly [column: string]: string | boolean | number | null }) =>
  ({ db, id }: Hand) =>
    db("nodes").where({ id }).update(change);

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
  (table: string, row: (hand: Hand) => { readonly [column: string]: unknown }) => (hand: Hand) =>
    hand.db(table).insert({ node_id: hand.id, ...row(hand) });

const changed = (what: string) => new RegExp(`changed since it was loaded: ${what}`);

/** A conductor could not read its power for long. */
const UNREAD = {
  ...{ maintenance: true, fault: "power failure" },
  maintenance_reason: "During sync_power_state, max retries exceeded for node",
};

async function isTaken({ db, id }: Hand): Promise<void> {
  const conductor = await db("conductors").first("id");
  await db("nodes").where({ id }).update({ conductor_affinity: conductor?.id });
}

async function isDeleted({ db, id }: Hand): Promise<void> {
  await db("ports").where({ node_id: id }).delete();
  await db("nodes").where({ id }).delete();
}

/** Something different for each machine, on a 2023.1 Ironic. @source facts/ironic.md 1.6, 2.2 */
export const DEEDS: readonly Deed[] = [
  [
    "its provision_state was changed",
    node({ provision_state: "deleting" }),
    changed("provision_state"),
  ],
  [
    "its BMC's address was changed",
    key("driver_info", "ipmi_address", "10.9.9.9"),
    changed("driver_info.ipmi_address"),
  ],
  [
    "a key was added to its driver_info",
    key("driver_info", "ipmi_port", 623),
    changed("driver_info.ipmi_port"),
  ],
  ["it was taken into maintenance", node({ maintenance: true }), changed("maintenance")],
  [
    "a port was added to it",
    child("ports", () => ({ uuid: randomUUID(), address: "52:54:ff:00:00:77" })),
    /port [0-9a-f-]{36} was added to it/,
  ],
  [
    "its port was changed",
    ({ db, id }) => db("ports").where({ node_id: id }).update({ pxe_enabled: false }),
    changed("pxe_enabled"),
  ],
  [
    "a conductor has reserved it",
    node({ reservation: "conductor-1" }),
    /reserved by conductor conductor-1/,
  ],
  [
    "it was given a trait",
    child("node_traits", () => ({ trait: "CUSTOM_GOLD", version: "1.0" })),
    /node_traits has rows of it/,
  ],
  ["it was given a tag", child("node_tags", () => ({ tag: "rack-7" })), /node_tags has rows of it/],
  ["its power_state was recorded", node({ power_state: "power on" }), null],
  ["a conductor took it over", isTaken, null],
  ["its vendor was found out", key("properties", "vendor", "Supermicro"), null],
  ["its image's type was written", key("instance_info", "image_type", "partition"), null],
  ["its power could not be read for long", node(UNREAD), null],
  [
    "it was inspected",
    key("properties", "capabilities", "boot_mode:uefi"),
    changed("properties.capabilities"),
  ],
  [
    "it was deployed anew",
    key("driver_internal_info", "deploy_steps", [{ step: "deploy" }]),
    changed("driver_internal_info.deploy_steps"),
  ],
  [
    "its history was written",
    child("node_history", () => ({ uuid: randomUUID(), event: "power", severity: "ERROR" })),
    null,
  ],
  [
    "its BIOS settings were read",
    child("bios_settings", () => ({ name: "virt", value: "on" })),
    null,
  ],
  [
    "its default interfaces were filled in",
    node({ power_interface: "ipmitool", updated_at: "2026-01-01 00:00:00" }),
    null,
  ],
  ["it was deleted", isDeleted, null],
  ["nobody touched it", () => Promise.resolve(), null],
];
