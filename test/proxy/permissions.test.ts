import assert from "node:assert/strict";
import { test } from "node:test";
import { ranges } from "../../src/serving/caller.ts";
import { proxyScene } from "./scene.ts";
import { PROJECT } from "./stand-ins.ts";

const LIST = "GET /v2.1/os-baremetal-nodes";

test("Keystone's word is kept for as long as it is told, never beyond the token's end, and no refusal is", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const { ask, keystone } = await proxyScene(t, 1, () => ({ tokenCache: 1 }));
  keystone.tokens.set("short", { roles: ["admin"], expires: 0.4 });
  const asked = async (token: string): Promise<number> => {
    const before = keystone.asked.length;
    await ask(LIST, token);
    return keystone.asked.length - before;
  };
  assert.deepEqual([await asked("admin"), await asked("admin")], [1, 0]);
  assert.deepEqual([await asked("none"), await asked("none")], [1, 1]);
  assert.deepEqual([await asked("short"), await asked("short")], [1, 0]);
  t.mock.timers.tick(500);
  keystone.tokens.delete("short");
  assert.equal((await ask(LIST, "short")).status, 401);
  keystone.tokens.set("ended", { roles: ["admin"], expires: -1 });
  assert.equal((await ask(LIST, "ended")).status, 401);
  t.mock.timers.tick(600);
  assert.equal(await asked("admin"), 1);
  const many = await Promise.all(Array.from({ length: 20 }, () => ask(LIST, "member")));
  assert.ok(many.every(({ status }) => status === 403));
  assert.equal(keystone.asked.filter((token) => token === "member").length, 1);
});

test("versions of a catalog's many URLs are not kept without end", async () => {
  let asked = 0;
  const headers = {
    "x-openstack-ironic-api-minimum-version": "1.1",
    "x-openstack-ironic-api-maximum-version": "1.82",
  };
  const known = ranges({
    send: () => {
      asked += 1;
      return Promise.resolve({ status: 200, headers, text: "{}" });
    },
    close: () => undefined,
  });
  for (let project = 0; project < 1000; project += 1) await known.of(`http://ironic/${project}`);
  await known.of("http://ironic/999");
  assert.equal(asked, 1000);
  await known.of("http://ironic/0");
  assert.equal(asked, 1001);
});

test("the URL of Ironic is that of the catalog in the caller's token, by interface and region", async (t) => {
  const catalog = { ironicUrl: undefined, fromCatalog: true, region: "one" };
  const { ask, keystone, ironic, said } = await proxyScene(t, 1, () => catalog);
  keystone.tokens.set("found", { roles: ["admin"], baremetal: ironic.url });
  assert.match(said[0] ?? "", /, Ironic from the catalog of each token, /);
  assert.equal((await ask(LIST, "found")).status, 200);
  const lost = await ask(LIST, "admin");
  assert.equal(lost.status, 503);
  assert.match(JSON.stringify(lost.body), /catalog of this token has no such baremetal endpoint/);
  keystone.tokens.set("dead", { roles: ["admin"], baremetal: "http://127.0.0.1:1" });
  assert.equal((await ask(LIST, "dead")).status, 503);
});

test("a token for the system has no project to name in the path", async (t) => {
  const { ask, keystone } = await proxyScene(t, 1);
  keystone.tokens.set("system", { roles: ["admin"], system: true });
  assert.equal((await ask(LIST, "system")).status, 200);
  const path = `GET /v2.1/${PROJECT}/os-baremetal-nodes`;
  assert.equal((await ask(path)).status, 200);
  assert.equal((await ask(path, "system")).status, 400);
});

test("with --auth none nobody is asked for a token, and none is sent on", async (t) => {
  const open = { auth: "none", keystoneUrl: undefined } as const;
  const { ask, ironic, keystone } = await proxyScene(t, 2, () => open);
  ironic.login = false;
  for (const token of [null, "admin"]) assert.equal((await ask(LIST, token)).status, 200);
  assert.equal((await ask("GET /v2/any/os-baremetal-nodes", null)).status, 200);
  assert.equal((await ask(`POST ${LIST.slice(4)}`, null)).status, 404);
  assert.ok(ironic.calls.every(({ fields }) => fields["x-auth-token"] === undefined));
  assert.deepEqual(keystone.asked, []);
});

test("the caller's name of a request is kept for those who are asked for it", async (t) => {
  const { ask, ironic } = await proxyScene(t, 1);
  const own = "req-0a000000-0000-4000-8000-000000000001";
  await ask(LIST, "admin", { fields: { "X-Openstack-Request-Id": own } });
  for (const { fields } of ironic.calls) assert.equal(fields["x-openstack-request-id"], own);
  ironic.calls.length = 0;
  const answer = await ask(LIST, "admin", { fields: { "X-Openstack-Request-Id": "anything" } });
  const ids = ironic.calls.map(({ fields }) => fields["x-openstack-request-id"]);
  assert.deepEqual(ids, [answer.fields.get("x-openstack-request-id")]);
});
