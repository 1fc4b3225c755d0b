import assert from "node:assert/strict";
import { test } from "node:test";
import { PROJECT } from "../proxy/stand-ins.ts";
import { instead } from "../support/faulty-service.ts";
import { addCard, dumped, macOf, uuidOf } from "./in-memory.ts";
import { BODY, bodyOf, LIST, NODE, POST, said, servedScene } from "./served-scene.ts";

test("the list has what can be managed, secrets masked", async (t) => {
  const { ask, cloud, node, before } = await servedScene(t);
  node(2).maintenance = true;
  const first = await ask(LIST);
  assert.equal(first.status, 200);
  const href = `${cloud.ironic}/v1/ports/${uuidOf(2, 1)}`;
  assert.deepEqual(first.body, {
    adoptable_nodes: [
      {
        ...{ uuid: NODE, name: "n-1", power_state: "power on", provision_state: "active" },
        ports: [{ uuid: uuidOf(2, 1), vif_port_id: uuidOf(3, 1), href, rel: "self" }],
        ...{ created_at: "2026-01-01T00:00:00+00:00", properties: { cpus: 4 } },
        instance_info: { image_source: "an-image", configdrive: "******" },
        resource_class: "gold",
      },
    ],
  });
  node(2).maintenance = false;
  assert.equal(dumped(cloud), before);
});

test("C-2: who is no administrator is refused, and nothing is asked for him", async (t) => {
  const { ask, cloud } = await servedScene(t);
  cloud.calls.length = 0;
  for (const [line, rule] of [
    [LIST, "get_all"],
    [POST, "create"],
  ] as const) {
    const refused = await ask(line, line === POST ? BODY : undefined, "member");
    assert.equal(refused.status, 403);
    const denied = "Access was denied to the following resource: mogan:manageable_servers:";
    assert.equal(said(refused), denied + rule);
    assert.equal((await ask(line, undefined, null)).status, 401);
    assert.equal((await ask(line, undefined, "forged")).status, 401);
  }
  assert.equal((await ask("DELETE /v1/adoptable_nodes")).status, 404);
  assert.deepEqual(cloud.calls, []);
});

test("a token that Ironic knows no more is 401, and Keystone is asked about it anew", async (t) => {
  for (const line of [LIST, POST]) {
    const { ask, cloud, keystone, before } = await servedScene(t);
    const body = line === POST ? BODY : undefined;
    keystone.tokens.set("revoked", { roles: ["admin"] });
    cloud.use((_, fields) => (fields["x-auth-token"] === "revoked" ? instead(401) : null));
    for (let times = 1; times <= 2; times += 1) {
      const { status, fields } = await ask(line, body, "revoked");
      assert.deepEqual([status, keystone.asked.length], [401, times], line);
      assert.match(fields.get("www-authenticate") ?? "", /^Keystone uri=/);
    }
    assert.equal(dumped(cloud), before);
  }
});

test("C-3, C-12, C-13: a machine gets its server, with two events, and loses it by the run", async (t) => {
  for (const [body, status, power_state] of [
    [{ ...BODY, node_uuid: NODE.toUpperCase() }, "stopped", "power off"],
    [{ ...BODY, description: "a shop", availability_zone: "az1" }, "active", "power on"],
  ] as const) {
    const none = { description: null, availability_zone: null };
    const { description, availability_zone } = { ...none, ...body };
    const { ask, cloud, node, events, manages, undone } = await servedScene(t);
    const put = (power_state: string) => Object.assign(node(), { power_state });
    put(power_state);
    const made = await manages(body);
    const { uuid } = made.body;
    const created_at = "2026-01-02T00:00:00+00:00";
    assert.deepEqual(made.body, {
      ...{ uuid, name: "web-1", description, availability_zone, metadata: {} },
      ...{ node_uuid: NODE, status, power_state },
      ...{ flavor_uuid: null, image_uuid: null, key_name: null, partitions: null },
      addresses: [{ port_id: uuidOf(3, 1), mac_address: macOf(1) }],
      ...{ project_id: PROJECT, user_id: "u", affinity_zone: null },
      ...{ created_at, launched_at: created_at, updated_at: created_at },
      links: [
        { href: `/v1/servers/${String(uuid)}`, rel: "self" },
        { href: `/servers/${String(uuid)}`, rel: "bookmark" },
      ],
    });
    assert.equal(made.fields.get("location"), `/v1/servers/${String(uuid)}`);
    assert.equal(node().instance_uuid, uuid);
    assert.deepEqual(events, ["manage.start", "manage.end"]);
    const again = await ask(POST, { ...body, name: "web-2" });
    assert.ok([403, 409].includes(again.status), said(again));
    assert.equal(cloud.allocations.size, 1);
    put("power on");
    await undone();
  }
});

test("the caller's token reads, and the process's own login does each write, back as well", async (t) => {
  const { ask, cloud, before, manages } = await servedScene(t, 1, { login: true });
  const seen: (readonly [call: string, token: unknown])[] = [];
  let isRefused = true;
  cloud.use((call, fields) => {
    seen.push([call, fields["x-auth-token"]]);
    if (!isRefused || !call.startsWith("POST /v1/allocations")) return null;
    isRefused = false;
    return instead(400);
  });
  // What is refused amid its steps is taken back, then it is made.
  const left = await ask(POST, BODY);
  assert.equal(left.status, 403, said(left));
  assert.equal(dumped(cloud), before);
  await manages(BODY);
  const ofServices = seen.filter(([call]) => !call.includes("/v3/"));
  const writes = ofServices.filter(([call]) => !call.startsWith("GET"));
  assert.deepEqual(
    [...new Set(writes.map(([call]) => call.replaceAll(/[0-9a-f-]{36}/g, "U")))].toSorted(),
    ["PATCH /v1/nodes/U", "POST /v1/allocations", "PUT /v2.0/ports/U"],
  );
  const others = ofServices.filter(([call]) => /^GET .v2/.test(call));
  for (const [call, token] of [...writes, ...others]) assert.equal(token, "of-the-service", call);
  const [first] = ofServices;
  assert.deepEqual(first, [`GET /v1/nodes/${NODE}`, "admin"]);
});

test("C-7: a machine whose image Glance has not, by id or by name, gets its server all the same", async (t) => {
  const { cloud, node, manages } = await servedScene(t, 3);
  const image = uuidOf(6, 1);
  cloud.images.set(image, { id: image, name: "debian", status: "active" });
  for (const [at, image_source, image_uuid] of [
    [1, uuidOf(6, 2), null],
    [2, "no-such-image", null],
    [3, image, image],
  ] as const) {
    node(at).instance_info = { image_source };
    assert.equal((await manages(bodyOf(at))).body.image_uuid, image_uuid);
    const asked = cloud.calls.filter((call) => call.startsWith("GET /v2/images")).join();
    assert.ok(asked.includes(image_source), asked);
  }
});

test("C-4: a body that the specification does not allow is refused with each path, and begins nothing", async (t) => {
  const { cloud, events, before, refuses } = await servedScene(t);
  const { networks: _networks, ...without } = BODY;
  const { flavor_uuid: _, ...flavorless } = BODY;
  for (const [body, why] of [
    [without, /networks/],
    [{ ...BODY, networks: [] }, /networks/],
    [{ ...BODY, networks: [{ port_type: "baremetal" }] }, /port_id/],
    [{ ...BODY, networks: [{ port_id: "eth0" }] }, /port_id/],
    [{ ...BODY, networks: [{ port_id: uuidOf(3, 1), port_type: 7 }] }, /port_type/],
    [{ ...BODY, networks: [{ port_id: uuidOf(3, 1), fixed_ip: "x" }] }, /fixed_ip/],
    [{ ...BODY, flavor_uuid: "gold" }, /flavor_uuid/],
    [{ ...BODY, description: "x".repeat(256) }, /description/],
    [{ ...BODY, name: "a\u0007b" }, /name/],
    [{ ...BODY, metadata: {} }, /metadata/],
    [
      { ...BODY, availability_zone: `az1:bm-1:${uuidOf(1, 2)}` },
      /_zone \S+ has a node other than /,
    ],
    [{ ...BODY, availability_zone: "az1:bm-1" }, /availability_zone az1:bm-1 is/],
    [flavorless, /flavor_uuid/],
    [{ ...BODY, name: "" }, /name/],
    [{ ...BODY, name: "x".repeat(256) }, /name/],
    [{ ...BODY, name: "a b" }, /name/],
    [{ ...BODY, node_uuid: "n-1" }, /node_uuid/],
    [[], /./],
    [undefined, /./],
  ] as const)
    await refuses(body, 400, why);
  assert.deepEqual([events, dumped(cloud)], [[], before]);
});

test("C-5, C-6, C-12: what cannot be managed is refused by its kind, and stays as it was", async (t) => {
  const { cloud, events, port, refuses, ...at } = await servedScene(t, 3);
  const node = at.node();
  let told = 0;
  const tried = async (body: object, status: number, why: RegExp) => {
    const before = dumped(cloud);
    await refuses(body, status, why);
    assert.equal(dumped(cloud), before);
    assert.deepEqual(events.slice(told), ["manage.start", "manage.error"]);
    told = events.length;
  };
  await tried({ ...BODY, node_uuid: uuidOf(1, 9) }, 404, /could not be found/);
  for (const [more, why] of [
    [{ provision_state: "available" }, /is available, not active/],
    [{ resource_class: null }, /no resource class/],
    [{ maintenance: true }, /in maintenance/],
    [{ instance_uuid: "i" }, /already has instance i/],
  ] as const) {
    const kept = { ...node };
    Object.assign(node, more);
    await tried(BODY, 403, why);
    Object.assign(node, kept);
  }
  await tried({ ...BODY, networks: [{ port_id: uuidOf(3, 9) }] }, 404, /Port \S+ could not/);
  const others = { ...BODY, networks: [{ port_id: uuidOf(3, 2) }] };
  await tried(others, 409, new RegExp(`${macOf(2)}.*${macOf(1)}`));
  Object.assign(port, { mac_address: macOf(77) });
  await tried(BODY, 409, new RegExp(`${macOf(77)}.*${macOf(1)}`));
  Object.assign(port, { mac_address: macOf(1), device_id: "s", device_owner: "compute:az" });
  await tried(BODY, 409, /belongs to compute:az s/);
  Object.assign(port, { device_id: "", device_owner: "" });
  const card = addCard(cloud, NODE, 9, { extra: { vif_port_id: uuidOf(3, 1) } });
  await tried(BODY, 409, /managed: VIF 3\S+1 is attached to more than one port$/);
  cloud.ports.delete(card);
  // Words of an operator decide nothing.
  const maintenance_reason = "the rack belongs to X, is locked";
  Object.assign(node, { maintenance: true, maintenance_reason });
  await tried(BODY, 403, /in maintenance: the rack belongs to X/);
  cloud.network.delete(uuidOf(3, 1));
  await tried(BODY, 404, /Port \S+ could not be found/);
});

test("a port with the MAC of the machine that is not its own is 409, and one without a port is not listed", async (t) => {
  const { cloud, events, port, list, refuses } = await servedScene(t);
  cloud.network.set(uuidOf(3, 9), { ...port, id: uuidOf(3, 9) });
  Object.assign(cloud.ports.get(uuidOf(2, 2)) ?? {}, { internal_info: {} });
  const before = dumped(cloud);
  const networks = [{ port_id: uuidOf(3, 9) }];
  await refuses({ ...BODY, networks }, 409, /Port 3\S+9 is not attached to node 1/);
  assert.deepEqual(events, ["manage.start", "manage.error"]);
  const listed = (await list()).map(({ uuid }) => uuid);
  assert.deepEqual(listed, [NODE]);
  assert.equal(dumped(cloud), before);
});

test("a port of the machine that the request does not name is refused, and named as well it is the server's", async (t) => {
  const { cloud, events, port, manages, refuses } = await servedScene(t, 1);
  const vif = uuidOf(3, 9);
  addCard(cloud, NODE, 9, { extra: { vif_port_id: vif } });
  cloud.network.set(vif, { ...port, id: vif, mac_address: macOf(9) });
  const before = dumped(cloud);
  await refuses(BODY, 403, /managed: VIF 3\S+9 is attached to it, but not in the request$/);
  assert.equal(dumped(cloud), before);
  assert.deepEqual(events, ["manage.start", "manage.error"]);
  const networks = [...BODY.networks, { port_id: vif.toUpperCase() }];
  const made = await manages({ ...BODY, networks });
  for (const id of [uuidOf(3, 1), vif])
    assert.equal(cloud.network.get(id)?.device_id, made.body.uuid);
});

test("a port that is attached to the machine after its ports were compared is not bound", async (t) => {
  const { cloud, port, refuses } = await servedScene(t, 1);
  const vif = uuidOf(3, 9);
  cloud.network.set(vif, { ...port, id: vif });
  let looks = 0;
  cloud.use((call) => {
    looks += call.startsWith("GET /v1/ports") ? 1 : 0;
    if (looks === 2 && cloud.ports.size === 1)
      addCard(cloud, NODE, 9, { extra: { vif_port_id: vif } });
  });
  await refuses(BODY, 403, /VIF \S+9 is attached to it/);
  assert.deepEqual([cloud.network.get(vif)?.device_id, cloud.allocations.size], ["", 0]);
});

test("C-5: two at once make one server, and a fault after any call leaves nothing", async (t) => {
  const { ask, cloud, events, undone } = await servedScene(t);
  const both = await Promise.all(["a", "b"].map((name) => ask(POST, { ...BODY, name })));
  assert.deepEqual(both.map(({ status }) => status === 201).toSorted(), [false, true]);
  assert.ok(both.every(({ status }) => [201, 403, 409].includes(status)));
  assert.equal(cloud.allocations.size, 1);
  await undone();
  assert.ok(events.length >= 2);
});

test("the oldest Ironic that can be served is listed, an older one is refused at the start", async (t) => {
  const { list } = await servedScene(t, 1, { most: 22 });
  assert.equal((await list()).length, 1);
  await assert.rejects(servedScene(t, 1, { most: 21 }), { code: "N2I-E209" });
});

test("C-10: an Ironic without such allocations lists, and answers that the rest is not implemented, which begins nothing", async (t) => {
  const { cloud, events, before, list, refuses } = await servedScene(t, 1, { most: 57 });
  assert.equal((await list()).length, 1);
  await refuses(BODY, 501, /cannot create an allocation/);
  assert.deepEqual([events, dumped(cloud)], [[], before]);
});
