import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Served } from "../../src/serving/listener.ts";
import { proxyScene } from "../proxy/scene.ts";
import { line, wire } from "../serving/scene.ts";
import { SOURCE, switchedDump } from "../switchover/switch-memory.ts";
import { servedSwitchover } from "../switchover/switch-served.ts";
import { dumped, type InMemory, uuidOf } from "./in-memory.ts";
import { writes } from "./scene.ts";
import { BODY, POST, said, servedScene } from "./served-scene.ts";

/** How a caller leaves: it closes the connection, or its own side of it. */
const WAYS = ["destroy", "end"] as const;

interface Serves {
  readonly url: string;
  readonly heard: readonly Served[];
  readonly cloud: Pick<InMemory, "use" | "calls">;
}

/** A request whose caller leaves right before the nth call that the service makes for it, if it makes so many. */
async function leaving(
  t: TestContext,
  { url, heard, cloud }: Serves,
  sent: string,
  way: (typeof WAYS)[number],
  nth: number,
): Promise<{ readonly answer: string; readonly left: boolean }> {
  const path = sent.split(" ")[1];
  const ofIt = (): number => heard.filter((one) => one.path === path).length;
  const before = ofIt();
  cloud.calls.length = 0;
  let calls = 0;
  cloud.use(() => {
    calls += 1;
    if (calls !== nth) return null;
    socket[way]();
    // The service answers another caller after that.
    return { done: true, before: wire(t, url, line("GET", "/nowhere")).ended };
  });
  const { socket, ended } = wire(t, url, sent);
  while (ofIt() === before) await turn();
  return { answer: await ended, left: calls >= nth };
}

function request(method: string, path: string, body: unknown): string {
  const text = JSON.stringify(body);
  const fields = [
    ...["X-Auth-Token: admin", "X-OpenStack-Ironic-API-Version: 1.82"],
    ...["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(text)}`],
  ];
  return line(method, path, ...fields) + text;
}

for (const way of WAYS)
  test(`a PUT whose caller leaves (${way}) before any of its calls is not accepted, and the next one is`, async (t) => {
    const at = await servedSwitchover(t);
    const { cloud, until, state, before } = at;
    const sent = request("PUT", `/v1/nodes/${SOURCE}/switchover`, { target_node: "s-1" });
    const files = readdirSync(state);
    let nth = 1;
    for (; ; nth += 1) {
      const { answer, left } = await leaving(t, { ...at, url: at.url() }, sent, way, nth);
      if (!left) {
        assert.match(answer, /^HTTP\/1\.1 202 /);
        break;
      }
      if (way === "end") assert.match(answer, /^HTTP\/1\.1 400 .*Nothing was changed/s);
      assert.deepEqual(readdirSync(state), files);
      assert.equal(switchedDump(cloud), before);
    }
    assert.ok(nth > 10, `${nth} calls`);
    await until(SOURCE, "DONE");
  });

for (const way of WAYS)
  test(`a POST whose caller leaves (${way}) before any of its calls changes nothing, or manages the machine whole`, async (t) => {
    const at = await servedScene(t);
    const { cloud, events, node, before } = at;
    const sent = request("POST", "/v1/servers/manage", BODY);
    const kinds = (): readonly string[] => events.slice(-2);
    let nth = 1;
    for (; ; nth += 1) {
      assert.equal(events.length, 2 * (nth - 1));
      const { answer } = await leaving(t, at, sent, way, nth);
      if (dumped(cloud) !== before) break;
      if (way === "end") assert.match(answer, /^HTTP\/1\.1 400 .*Nothing was changed/s);
      assert.deepEqual(writes(cloud), []);
      assert.deepEqual(kinds(), ["manage.start", "manage.error"]);
    }
    // Six reads, then the check; one more read of the node comes right before the first write.
    assert.equal(nth, 7);
    assert.deepEqual(kinds(), ["manage.start", "manage.end"]);
    assert.deepEqual([node().instance_uuid], [...cloud.allocations.keys()]);
  });

test("a body of another Content-Type than JSON's is 415, and begins nothing", async (t) => {
  const { ask, cloud, events, before } = await servedScene(t);
  for (const type of [
    ...["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "text/json"],
    ...["application/json, text/plain", "multipart/form-data; boundary=x", "json"],
  ]) {
    const refused = await ask(POST, BODY, "admin", type);
    assert.equal(refused.status, 415, type);
    assert.match(said(refused), /^The body is .* but must be application\/json$/);
  }
  assert.deepEqual([events, dumped(cloud)], [[], before]);
  for (const [at, type] of [null, "Application/JSON ; charset=utf-8"].entries()) {
    const body = { ...BODY, node_uuid: uuidOf(1, 9) };
    assert.equal((await ask(POST, body, "admin", type)).status, 404, `${at} ${type}`);
  }
});

test("no answer repeats the Host that its caller sent", async (t) => {
  const [manages, switches] = [await servedScene(t), await servedSwitchover(t)];
  const { proxy } = await proxyScene(t, 2);
  const list = "/v2.1/os-baremetal-nodes";
  let answers = 0;
  const asks = async (url: string, sent: string, status: number): Promise<string> => {
    const answer = await wire(t, url, sent.replace("Host: here", "Host: evil.example")).ended;
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), answer);
    assert.doesNotMatch(answer, /evil/);
    answers += 1;
    return answer;
  };
  const made = await asks(manages.url, request("POST", "/v1/servers/manage", BODY), 201);
  const [, path = ""] = /^Location: (\S+)\r$/m.exec(made) ?? [];
  await asks(manages.url, request("GET", path, {}), 200);
  await asks(manages.url, request("GET", "/v1/adoptable_nodes", {}), 200);
  for (const [method, status] of [
    ["PUT", 202],
    ["GET", 200],
    ["POST", 405],
  ] as const)
    await asks(switches.url(), request(method, `/v1/nodes/${SOURCE}/switchover`, {}), status);
  await switches.until(SOURCE, "DONE");
  for (const [of, status] of [
    ["", 200],
    ["/node-1", 200],
    ["/node-9", 404],
    ["/a/b", 404],
  ] as const)
    await asks(proxy.url, request("GET", `${list}${of}`, {}), status);
  for (const { url } of [manages, { url: switches.url() }, proxy]) {
    await asks(url, line("GET", "/nowhere"), 404);
    await asks(url, line("GET", list, "Host: evil.example"), 400);
  }
  assert.equal(answers, 16);
});
