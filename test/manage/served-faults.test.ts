import assert from "node:assert/strict";
import { test } from "node:test";
import { openManaged } from "../../src/manage/manage-run.ts";
import { runs } from "../hostile/cli.ts";
import { instead, isWrite } from "../support/faulty-service.ts";
import { dumped, refuses as refusal } from "./in-memory.ts";
import { DENIED, REFUSED } from "./scene.ts";
import { BODY, bodyOf, LIST, NODE, POST, said, servedScene } from "./served-scene.ts";

const OTHER = bodyOf(2);

test("what somebody else has in between is 409, and Neutron is asked again after it failed", async (t) => {
  const { ask, cloud, before, manages, refuses } = await servedScene(t);
  cloud.fail(/\/v2\.0\//, instead(404, { NeutronError: { message: "not now" } }));
  assert.notEqual((await ask(POST, BODY)).status, 201);
  cloud.use(() => null);
  cloud.allocations.set("x", { uuid: "x", name: "web-1", node_uuid: null, state: "active" });
  await refuses(BODY, 409, /name web-1 already exists/);
  cloud.allocations.clear();
  assert.equal(dumped(cloud), before);
  await manages(BODY);
});

test("where nothing says where Neutron is, no port is said not to be there", async (t) => {
  const env = { OS_NETWORK_ENDPOINT_OVERRIDE: "" };
  const { cloud, before, refuses } = await servedScene(t, 1, { env });
  await refuses(BODY, 503, /No endpoint of Neutron is known/);
  assert.equal(dumped(cloud), before);
});

test("a port that somebody got in between is 409, is his, and the run has nothing to take back", async (t) => {
  const { cloud, node, port, run, refuses } = await servedScene(t);
  const his = { device_id: "his", device_owner: "baremetal:none", revision_number: 7 };
  cloud.once(/^PUT .v2.0.ports/, () => Object.assign(port, his));
  await refuses(BODY, 409, /./);
  assert.deepEqual([port.device_id, node().extra], ["his", {}]);
  assert.equal((await openManaged(run)).managed.size, 0);
});

test("a node that a conductor keeps locked is 409, and stays as it was", async (t) => {
  const { cloud, before, refuses } = await servedScene(t);
  const locked = `Node ${NODE} is locked by host c, please retry after the current operation is completed.`;
  for (const word of [/^PATCH/, /^POST .v1.allocations/]) {
    cloud.fail(word, { done: false, says: refusal(409, locked) });
    await refuses(BODY, 409, /is locked by host c/);
    assert.equal(dumped(cloud), before, String(word));
  }
});

test("secrets of addresses are masked, however deep they stand", async (t) => {
  const { ask, cloud, node } = await servedScene(t, 1);
  const urls = [
    "https://swift/v1/a?temp_url_sig=abcSECRET&temp_url_expires=7",
    "https://user:pwSECRET@host/image",
    "https://s3/x?X-Amz-Credential=kSECRET&X-Amz-Signature=sSECRET",
    "https://blob/x?sv=1&sig=zSECRET",
  ];
  for (const image_source of urls) {
    const deep = { ipa: { admin_password: "dSECRET", at: [image_source] } };
    node().instance_info = { image_source, deep };
    const all = JSON.stringify((await ask(LIST)).body);
    assert.match(all, /\*{6}/);
    const { out } = await runs(0, ["node", "list", "--adoptable", ...cloud.words], cloud.how);
    for (const text of [all, out]) {
      assert.doesNotMatch(text, /SECRET/);
      assert.match(text, /https:/);
    }
  }
});

for (const [what, fault, status] of [
  ["is refused", REFUSED, 403],
  ["the login of the service may not make", DENIED, 503],
] as const)
  test(`C-8: each call of a request that ${what} leaves nothing behind and returns ${status}`, async (t) => {
    const { cloud, before, list, refuses } = await servedScene(t);
    for (let nth = 1; nth <= 4; nth += 1) {
      cloud.fail(isWrite, fault, nth);
      await refuses(BODY, status, /not today/);
      cloud.use(() => null);
      assert.equal(dumped(cloud), before, `call ${nth}`);
      assert.equal((await list()).length, 2);
    }
  });

test("what a request cannot take back is the service's fault, and the next one takes it back first", async (t) => {
  const { cloud, manages, refuses, undone } = await servedScene(t);
  let passed = 0;
  cloud.use((call) => {
    if (isWrite(call)) passed += 1;
    return isWrite(call) && passed >= 3 ? REFUSED : null;
  });
  await refuses(BODY, 503, /not rolled back: PUT of port/);
  cloud.use(() => null);
  await manages(BODY);
  await undone();
});

test("a read that is refused is 403 where the caller asks, and 503 where the service does", async (t) => {
  const { ask, cloud, manages, undone } = await servedScene(t, 2, { login: true });
  type By = { readonly [name: string]: unknown };
  const asked: readonly [line: string, body?: object][] = [[LIST], [POST, BODY]];
  const refusing = async (
    isRefused: (call: string, fields: By) => boolean,
    [line, body]: (typeof asked)[number],
    [status, answered]: readonly [number, number],
  ) => {
    let refused = 0;
    cloud.use((call, fields) => {
      if (!isRefused(call, fields)) return null;
      refused += 1;
      return { done: false, says: refusal(answered, "not today") };
    });
    const answer = await ask(line, body);
    cloud.use(() => null);
    assert.ok(refused > 0, line);
    assert.equal(answer.status, status, `${line}: ${JSON.stringify(answer.body)}`);
    assert.match(said(answer), /not today/);
  };
  const isLogin = (call: string): boolean => call.startsWith("POST /v3/auth/");
  const isRead = (call: string): boolean => call.startsWith("GET ");
  // Nobody logged in at Neutron yet.
  for (const one of asked) await refusing(isLogin, one, [503, 401]);
  await manages(OTHER);
  const [{ uuid = "" } = {}] = cloud.allocations.values();
  for (const one of [...asked, [`GET /v1/servers/${String(uuid)}`] as [string]]) {
    await refusing((call) => isRead(call) && call.includes("/v2.0/"), one, [503, 403]);
    await refusing((_call, { "x-auth-token": by }) => by === "admin", one, [403, 403]);
    if (one[0].startsWith("POST"))
      await refusing(
        (call, { "x-auth-token": by }) => isRead(call) && /^GET .v1./.test(call) && by !== "admin",
        one,
        [503, 403],
      );
  }
  await undone();
});

test("a machine whose server somebody deleted gets another, and loses that one too", async (t) => {
  const { cloud, node, manages, undone } = await servedScene(t, 1);
  const first = await manages(BODY);
  cloud.allocations.clear();
  Object.assign(node(), { instance_uuid: null, allocation_uuid: null });
  const second = await manages(BODY);
  assert.notEqual(second.body.uuid, first.body.uuid);
  await undone();
});
