import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { run, runs } from "../hostile/cli.ts";
import { connect } from "../lab/connect.ts";
import { needs } from "../lab/index.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { faultyProxy } from "../lab/ironic/faulty.ts";
import type { IronicServer } from "../lab/ironic/start.ts";
import { withIronic } from "../lab/ironic/with-ironic.ts";
import { macOf, uuidOf } from "../manage/in-memory.ts";
import { ID } from "../manage/nova-memory.ts";
import { manage, NOVA, place as novaPlace, writes } from "../manage/nova-place.ts";

/** As an operator of volumes has it, and one who enables no hardware type that he does not use. */
const OWN = {
  DEFAULT: {
    enabled_storage_interfaces: "external,noop,fake",
    enabled_hardware_types: "ipmi,manual-management",
  },
};

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

/** The lowest number of their uuids. */
const FIRST = 10;
const DRIVER = "manual-management";

const SECRET = "chap-of-the-volume";

test("a real Ironic's spares are listed with what keeps the others out, and no server of Nova is begun without fake-hardware", async (t) => {
  const ironic = await withIronic(t, "mysql", { more: OWN });
  const api = apiOf(ironic);
  const made = async (path: string, body: object): Promise<void> => {
    const { status, body: said } = await api("POST", `/v1/${path}`, body);
    assert.equal(status, 201, JSON.stringify(said));
  };
  for (const [at, { state, ...more }] of NODES.entries()) {
    const uuid = uuidOf(1, FIRST + at);
    await made("nodes", {
      ...{ uuid, driver: DRIVER, resource_class: "gold", boot_interface: "ipxe" },
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
  // How they came there is no matter of a list.
  await inRows(ironic, async (db) => {
    for (const [at, { state }] of NODES.entries())
      await db("nodes")
        .where({ uuid: uuidOf(1, FIRST + at) })
        .update({ provision_state: state });
  });
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
  assert.match(err, /^n-2: 0 of 1 spare/m);
  assert.ok(!`${out}${err}`.includes(SECRET));
  await t.test("a conductor without fake-hardware is refused before any write", (of) =>
    withoutFake(of, ironic),
  );
});

/** What the conductors have is this real Ironic's; Nova and Placement are in memory, and see no call that writes. */
async function withoutFake(t: TestContext, ironic: IronicServer): Promise<void> {
  const api = apiOf(ironic);
  const node = { uuid: ID, name: "n-3", driver: DRIVER, resource_class: "gold" };
  const info = { instance_info: { image_source: uuidOf(5, 1) }, boot_interface: "ipxe" };
  const made = await api("POST", "/v1/nodes", { ...node, ...info });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await inRows(ironic, (db) =>
    db("nodes").where({ uuid: ID }).update({ provision_state: "active", power_state: "power on" }),
  );
  const dump = async (): Promise<unknown> => {
    const { body } = await api("GET", `/v1/nodes/${ID}`);
    // A conductor looks at an active node meanwhile, and takes it over.
    const looks = { reservation: null, last_error: null, driver_internal_info: null };
    return { ...(body as object), ...looks, updated_at: null };
  };
  const before = await dump();
  const { cloud, at, how } = await novaPlace(t);
  const asked = await faultyProxy(ironic.url, t);
  const ran = await run([...manage, ...NOVA, ...at.slice(0, 2), "--ironic-url", asked.url], how);
  assert.equal(ran.status, 4, ran.err);
  const why = "hardware type fake-hardware is not enabled on the conductors of its group";
  assert.match(ran.err, new RegExp(`^ERROR N2I-E370 ${ID}: ${why}\\.?$`, "m"));
  const calls = asked.calls();
  assert.ok(calls.some(({ path }) => path.startsWith("/v1/conductors")));
  assert.deepEqual(
    calls.filter(({ method }) => method !== "GET"),
    [],
  );
  assert.deepEqual(writes(cloud), []);
  assert.deepEqual(await dump(), before);
}

async function inRows(
  { database }: IronicServer,
  writes: (db: ReturnType<typeof connect>) => PromiseLike<unknown>,
): Promise<void> {
  const db = connect({ ...(await needs("mysql")), database });
  await writes(db);
  await db.destroy();
}
