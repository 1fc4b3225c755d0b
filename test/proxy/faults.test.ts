import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ranges } from "../../src/serving/caller.ts";
import { type Call, type Fault, faultyProxy, ironicFault } from "../lab/ironic/faulty.ts";
import { proxyScene } from "./scene.ts";
import { PROJECT, uuidOf } from "./stand-ins.ts";

const LIST = "GET /v2.1/os-baremetal-nodes";
const SHOW = `${LIST}/${uuidOf(1)}`;

/** With something in front of Ironic that misbehaves when it is told to. */
async function faulty(t: TestContext, nodes = 3, most: number | null = 82) {
  let use: (fault: (call: Call) => Fault | null) => void = () => undefined;
  const scene = await proxyScene(t, nodes, async ({ ironic }) => {
    ironic.most = most;
    const proxy = await faultyProxy(ironic.url, t);
    use = proxy.use;
    return { ironicUrl: proxy.url, apiTimeout: 0.5 };
  });
  return { ...scene, use };
}

function ofNodes(fault: Fault): (call: Call) => Fault | null {
  return ({ path }) => (path.startsWith("/v1/nodes") ? fault : null);
}

const HTML: Fault = { do: "answer", status: 200, text: "<html>Sorry</html>" };

test("what Ironic refuses is refused with its own sentence, and the token is looked at anew", async (t) => {
  const { ask, use, keystone } = await faulty(t);
  for (const line of [LIST, SHOW]) {
    use(ofNodes(ironicFault(403, "Access was denied to the following resource: nodes")));
    const denied = await ask(line);
    const message = "Access was denied to the following resource: nodes";
    assert.deepEqual([denied.status, denied.body], [403, { forbidden: { code: 403, message } }]);
    use(ofNodes({ do: "answer", status: 401, text: '{"error": "token admin was revoked"}' }));
    const asked = keystone.asked.length;
    const revoked = await ask(line);
    const error = { code: 401, title: "Unauthorized", message: "token **** was revoked" };
    assert.deepEqual([revoked.status, revoked.body], [401, { error }]);
    assert.match(revoked.fields.get("www-authenticate") ?? "", /^Keystone uri=/);
    use(() => null);
    assert.equal((await ask(line)).status, 200);
    assert.equal(keystone.asked.length, asked + 1);
  }
});

test("whatever else is no answer of Ironic's is 503, and the next request is answered", async (t) => {
  const { ask, use, served } = await faulty(t);
  assert.equal((await ask(LIST)).status, 200);
  const faults: readonly Fault[] = [
    ...[500, 502, 503, 504, 418, 409].map((status) => ironicFault(status, "no worker")),
    { do: "answer", status: 200, text: '{"nodes": []}' },
    { do: "answer", status: 404, text: "no backend" },
    { do: "answer", status: 406, text: "{}" },
    HTML,
    { do: "refuse" },
    { do: "lost" },
    { do: "slow", ms: 900 },
  ];
  for (const fault of faults)
    for (const line of [LIST, SHOW]) {
      use(ofNodes(fault));
      const { status, body } = await ask(line);
      assert.equal(status, 503, `${line} ${JSON.stringify(fault)} ${JSON.stringify(body)}`);
      assert.match(JSON.stringify(body), /^\{"serviceUnavailable":\{"code":503,"message":"Ironic /);
      use(() => null);
      assert.equal((await ask(line)).status, 200);
    }
  assert.ok(served.every(({ broken }) => broken === undefined));
});

test("a 400 is no verdict on a UUID, nor is a page that is not Ironic's; of a name it is one", async (t) => {
  const { ask, use } = await faulty(t);
  const bad = ironicFault(400, "Expected a logical name or uuid");
  for (const [fault, id, ours] of [
    [bad, uuidOf(1), 503],
    [{ do: "answer", status: 400, text: "<html>Bad Request</html>" }, "node-9", 503],
    [bad, "node-9", 404],
  ] as const) {
    use(ofNodes(fault));
    assert.equal((await ask(`${LIST}/${id}`)).status, ours, JSON.stringify(fault));
  }
});

test("a connection that Ironic closed meanwhile is made again, once", async (t) => {
  const { ask, use } = await faulty(t);
  let calls = 0;
  use(({ path }) => {
    if (!path.startsWith("/v1/nodes")) return null;
    calls += 1;
    return calls === 1 ? { do: "refuse" } : null;
  });
  assert.equal((await ask(LIST)).status, 200);
  assert.equal(calls, 2);
});

test("ports that cannot be read are no node without ports", async (t) => {
  const { ask, use } = await faulty(t);
  for (const fault of [ironicFault(503, "later"), HTML] as const) {
    use(({ path }) => (path.startsWith("/v1/ports") ? fault : null));
    assert.equal((await ask(SHOW)).status, 503);
  }
});

test("a list that breaks after its first page takes its connection with it, and the log says why", async (t) => {
  const { ask, ironic, served, use } = await faulty(t, 30);
  ironic.page = 10;
  const slow = { do: "slow", ms: 900 } as const;
  for (const fault of [ironicFault(500, "gone"), HTML, { do: "lost" } as const, slow]) {
    let pages = 0;
    use(({ path }) => {
      if (!path.startsWith("/v1/nodes")) return null;
      pages += 1;
      return pages >= 2 ? fault : null;
    });
    await assert.rejects(ask(LIST), JSON.stringify(fault));
    const { status, broken } = served.at(-1) ?? {};
    assert.equal(status, 200);
    assert.match(broken ?? "", /^the list of nodes is incomplete: /);
  }
  use(() => null);
  assert.equal((await ask(LIST)).status, 200);
});

test("a page that Ironic repeats for ever ends the list as broken", async (t) => {
  const { ask, ironic, served } = await faulty(t, 20);
  ironic.page = 10;
  // As one does that knows no markers.
  ironic.markers = false;
  await assert.rejects(ask(LIST));
  assert.match(served.at(-1)?.broken ?? "", /lists the same page again/);
});

test("pages that come round again after some end the list, and the ports, as broken", async (t) => {
  // Juno's has no version in its answers, nor has this.
  const { ask, ironic, served, use } = await faulty(t, 3, null);
  const page = (at: number): Fault => ({
    do: "answer",
    status: 200,
    text: JSON.stringify({
      nodes: [{ uuid: uuidOf(at) }],
      ports: [{ uuid: uuidOf(at), address: "52:54:00:00:00:01" }],
      next: `${ironic.url}/v1/ports?marker=${uuidOf(at)}`,
    }),
  });
  let [asked, kind] = [0, "nodes"];
  const round = ({ path }: Call): Fault | null => {
    if (!path.startsWith(`/v1/${kind}`)) return null;
    asked += 1;
    return asked > 100 ? ironicFault(500, "enough") : page((asked % 2) + 1);
  };
  use(round);
  await assert.rejects(ask(LIST));
  assert.match(served.at(-1)?.broken ?? "", /lists the same page again/);
  [asked, kind] = [0, "ports"];
  const show = await ask(SHOW);
  assert.equal(show.status, 503);
  assert.match(JSON.stringify(show.body), /lists the same ports again/);
});

test("Keystone's silence is 503, its refusal the caller's", async (t) => {
  const { ask, calls, keystone } = await proxyScene(t, 1);
  for (const [status, text, ours] of [
    [500, "{}", 503],
    [503, "<html>", 503],
    [200, "{}", 503],
    [200, "<html>", 503],
    [300, "{}", 503],
    // Of whatever stands in front of it.
    [401, "<html>", 503],
    [403, "{}", 503],
    [404, "<html>Not Found</html>", 503],
    [401, '{"error": {"message": "expired"}}', 401],
    [404, '{"error": {"message": "Could not find token"}}', 401],
    [403, '{"error": {"message": "You are not authorized"}}', 403],
  ] as const) {
    keystone.refuse = { status, text };
    const answer = await ask(LIST);
    assert.equal(answer.status, ours, `${status} ${text}`);
  }
  assert.deepEqual(calls(), []);
  keystone.refuse = null;
  assert.equal((await ask(LIST)).status, 200);
});

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
