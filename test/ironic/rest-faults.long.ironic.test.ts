import assert from "node:assert/strict";
import { test } from "node:test";
import { caseMac, caseUuid } from "../cases/case.ts";
import { faultyProxy, ironicFault } from "../lab/ironic/faulty.ts";
import { needsIronic } from "../lab/ironic/with-ironic.ts";
import { ADOPTED, adoption, NOTHING, THREE } from "./adoption.ts";

test("a service that forbids a call, or is gone for good, ends it as halfway with each machine told, and the same command goes on later", async (t) => {
  const ironic = await needsIronic(t);
  const proxy = await faultyProxy(ironic.url, t);
  const at = await adoption(t, ironic, ["--ironic-url", proxy.url]);
  await at.does(0, "plan");
  const forbidden = ironicFault(403, "Access was denied");
  proxy.use(({ method, path }) =>
    method === "PUT" && path === `/v1/nodes/${THREE[2]}/states/provision` ? forbidden : null,
  );
  const denied = await at.does(5, "apply", ["--yes"]);
  assert.match(denied.err, /^ERROR N2I-E301 apply stopped after 2 machines: N2I-E211 /m);
  const told = `^Failed: ${THREE[2]} .*N2I-E211 .*its node is "enroll" in Ironic$`;
  assert.match(denied.out, new RegExp(told, "m"));
  proxy.use(() => null);
  await at.does(0, "rollback", ["--yes", "--all"]);
  let writes = 0;
  proxy.use(({ method }) => {
    if (method !== "GET") writes += 1;
    return writes > 5 ? { do: "refuse" } : null;
  });
  const { out, err } = await at.does(5, "apply", ["--yes"]);
  assert.match(err, /^ERROR N2I-E301 Apply stopped after \d machines: N2I-E210 .*ECONN/im);
  for (const line of (await at.there()).nodes) {
    const [uuid, state] = line.split(" ");
    if (ADOPTED.nodes.includes(line)) continue;
    const told = `^Failed: ${uuid} .*N2I-E210.*(its node is "|its objects in Ironic are unknown)`;
    assert.match(out, new RegExp(told, "m"), `machines that stay ${state} are listed`);
  }
  proxy.use(() => null);
  await at.does(0, "apply", ["--yes"]);
  assert.deepEqual(await at.there(), ADOPTED);
});

test("a MAC that is taken meanwhile fails its machine at once, the others are adopted", async (t) => {
  const ironic = await needsIronic(t);
  const proxy = await faultyProxy(ironic.url, t);
  const at = await adoption(t, ironic, ["--ironic-url", proxy.url]);
  const node = { uuid: "f0000000-0000-4000-8000-000000000001", driver: "fake-hardware" };
  const port = { node_uuid: node.uuid, address: "52:54:ff:00:00:01" };
  assert.equal((await at.api("POST", "/v1/nodes", node)).status, 201);
  const made = await at.api("POST", "/v1/ports", port);
  await at.does(0, "plan");
  // As many rows as when the plan was made: only the calls themselves meet it.
  // The answer is the port.
  const { uuid } = made.body as { readonly uuid: string };
  const taken = [{ op: "replace", path: "/address", value: caseMac(2, 0) }];
  assert.equal((await at.api("PATCH", `/v1/ports/${uuid}`, taken)).status, 200);
  const { out } = await at.does(3, "apply", ["--yes"]);
  const told = `^Failed: ${THREE[1]} .*on port ${uuid} already; its node is "enroll" in Ironic$`;
  assert.match(out, new RegExp(told, "m"));
  const posts = proxy.calls().filter(({ method, path }) => method + path === "POST/v1/ports");
  assert.equal(posts.length, 3, "a duplicate is not tried again");
  assert.equal((await at.api("DELETE", `/v1/ports/${uuid}`)).status, 204);
  await at.does(0, "apply", ["--yes"]);
  await at.does(0, "verify");
  await at.does(0, "rollback", ["--yes", "--all"]);
  assert.deepEqual((await at.there()).nodes, [`${node.uuid} enroll`]);
});

test("an adoption that fails is tried once more, told with its reason, and rolled back", async (t) => {
  const ironic = await needsIronic(t);
  const proxy = await faultyProxy(ironic.url, t);
  const [first, third] = [1, 3].map((id) => ({ uuid: caseUuid("instance", id) }));
  const none = { kernel_id: "", ramdisk_id: "", image_ref: "" };
  const nova = { instances: [{ ...first }, { ...third, ...none }] };
  const more = { nova, set: { deploy_interface: "ramdisk" } };
  const at = await adoption(t, ironic, ["--ironic-url", proxy.url], {}, more);
  await at.does(0, "plan");
  const { out } = await at.does(3, "apply", ["--yes"]);
  const told = `^Failed: ${THREE[2]} .*adoption failed twice: first .+; then .+`;
  assert.match(out, new RegExp(told, "m"));
  const states = `PUT /v1/nodes/${THREE[2]}/states/provision`;
  const asked = proxy.calls().filter(({ method, path }) => `${method} ${path}` === states);
  assert.equal(asked.length, 4);
  assert.deepEqual((await at.there()).nodes[2], `${THREE[2]} adopt failed`);
  await at.does(0, "rollback", ["--yes", "--all"]);
  assert.deepEqual(await at.there(), NOTHING);
});
