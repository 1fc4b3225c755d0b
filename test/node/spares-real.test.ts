import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "../hostile/cli.ts";
import { connect } from "../lab/connect.ts";
import { lab } from "../lab/index.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { withIronic } from "../lab/ironic/with-ironic.ts";
import { macOf, uuidOf } from "./in-memory.ts";

/** Beside the lab's own, as an operator of volumes has it. */
const EXTERNAL = { DEFAULT: { enabled_storage_interfaces: "external,noop,fake" } };

/** Machines of a real Ironic: two in use, of which one has a spare in each state, and some that nearly fit. */
const NODES = [
  { name: "n-1", state: "active", storage_interface: "external" },
  { name: "n-2", state: "active", storage_interface: "external", resource_class: "silver" },
  { name: "s-manageable", state: "manageable", storage_interface: "external" },
  { name: "s-enroll", state: "enroll", storage_interface: "external" },
  { name: "s-local", state: "manageable", storage_interface: "noop" },
  { name: "s-retired", state: "enroll", storage_interface: "external", retired: true },
  { name: "s-traits", state: "manageable", storage_interface: "external" },
  { name: "s-network", state: "manageable", storage_interface: "external" },
] as const;

function traitsOf(name: string, at: number): readonly string[] {
  if (name === "s-traits") return ["CUSTOM_A"];
  return at % 2 === 0 ? ["CUSTOM_A", "CUSTOM_B"] : ["CUSTOM_B", "CUSTOM_A"];
}

const SECRET = "chap-of-the-volume";

test("a real Ironic's spares are listed with what keeps the others out, and no secret", async (t) => {
  const ironic = await withIronic(t, "mysql", { more: EXTERNAL });
  if (ironic === null) return;
  const api = apiOf(ironic);
  const made = async (path: string, body: object): Promise<void> => {
    const { status, body: said } = await api("POST", `/v1/${path}`, body);
    assert.equal(status, 201, JSON.stringify(said));
  };
  for (const [at, { state, ...more }] of NODES.entries()) {
    const uuid = uuidOf(1, at);
    await made("nodes", {
      ...{ uuid, driver: "fake-hardware", resource_class: "gold", boot_interface: "ipxe" },
      ...{ deploy_interface: "direct", automated_clean: false },
      properties: { cpus: at % 2 ? 4 : "4", memory_mb: 8192, capabilities: "iscsi_boot:True" },
      ...more,
    });
    const physical_network = more.name === "s-network" ? "two" : "one";
    await made("ports", { node_uuid: uuid, address: macOf(at), physical_network });
    const { status } = await api("PUT", `/v1/nodes/${uuid}/traits`, {
      traits: traitsOf(more.name, at),
    });
    assert.equal(status, 204);
    if (state !== "active") continue;
    await made("volume/connectors", { node_uuid: uuid, type: "iqn", connector_id: `iqn:${at}` });
    await made("volume/targets", {
      ...{ node_uuid: uuid, volume_type: "iscsi", boot_index: 0, volume_id: `v-${at}` },
      properties: { auth_password: SECRET, target_iqn: "iqn:t" },
    });
  }
  const { mariadb } = await lab();
  assert.ok(mariadb !== null);
  const db = connect({ ...mariadb, database: ironic.database });
  // How they came there is no matter of a list.
  for (const [at, { state }] of NODES.entries())
    await db("nodes")
      .where({ uuid: uuidOf(1, at) })
      .update({ provision_state: state });
  await db.destroy();
  const words = ["node", "list", "--spares", "--all", "--need", "1", "--ironic-url", ironic.url];
  const { out, err } = await runs(2, [...words, "-f", "json"]);
  const rows = JSON.parse(out) as readonly { readonly [column: string]: unknown }[];
  assert.deepEqual(
    rows.map((row) => [row.Example, row.Machines, row.Candidates, row["Why not"]]),
    [
      ["n-2", 1, "", 's-manageable: resource_class: "silver" != "gold"'],
      ["n-1", 1, "s-manageable, s-enroll", ""],
    ],
  );
  assert.match(err, /s-retired \(it is retired\)/);
  assert.match(err, /^n-2: 0 of 1 spares/m);
  assert.ok(!`${out}${err}`.includes(SECRET));
});
