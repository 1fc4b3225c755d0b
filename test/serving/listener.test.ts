import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, get, type Server } from "node:http";
import { get as tlsGet } from "node:https";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { MigrationError } from "../../src/lib/error.ts";
import { LIMITS, type ServedRoute } from "../../src/serving/listener.ts";
import { authority } from "../support/certificates.ts";
import { signal } from "../support/signal.ts";
import { putPair } from "../systems/openstack/demanding.ts";
import { heldRoute, line, listening, piecewise, shorter, wire } from "./scene.ts";

const STATUS = /^HTTP\/1\.1 (\d{3})/;
const ID = /^req-[0-9a-f-]{36}$/;

function statusOf(answer: string): number {
  return Number(STATUS.exec(answer)?.[1]);
}

test("a request is answered by its route, and one line says so without what nobody may read", async (t) => {
  const { url, served } = await listening(t);
  const own = "req-0a000000-0000-4000-8000-000000000001";
  const answer = await fetch(`${url}/said?password=hidden`, {
    headers: { "X-Auth-Token": "gAAAA-secret", "X-Openstack-Request-Id": own },
  });
  assert.deepEqual(await answer.json(), { method: "GET", path: "/said", globalId: own, bytes: 0 });
  const id = answer.headers.get("x-openstack-request-id") ?? "";
  assert.match(id, ID);
  assert.notEqual(id, own);
  assert.equal(served.length, 1);
  const { milliseconds, ...rest } = served[0] ?? { milliseconds: -1 };
  assert.ok(milliseconds >= 0);
  const said200 = { method: "GET", path: "/said", status: 200, calls: 2 };
  assert.deepEqual(rest, { id, globalId: own, ...said200 });
  const strange = await fetch(`${url}/said`, { headers: { "X-Openstack-Request-Id": "req-x" } });
  const said = (await strange.json()) as { readonly globalId: string };
  assert.equal(said.globalId, strange.headers.get("x-openstack-request-id"));
  assert.equal(served[1]?.globalId, undefined);
  const headers = { "X-Auth-Token": "gAAAA-secret" };
  await fetch(`${url}/gAAAA-secret/${"x".repeat(300)}`, { headers });
  assert.equal(served.at(-1)?.path, "/****/****");
  assert.equal(served.at(-1)?.status, 404);
  for (const [path, logged] of [
    [`/v2.1/${own.slice(4)}/os-baremetal-nodes/node_1~a`, null],
    ["/v2.1/gAAAAAB-other_token/x", "/v2.1/****/x"],
    ["/v2.1/gAAAA%41AB-other_token/x", "/v2.1/****/x"],
    [`/v2.1/${"y".repeat(65)}/${"y".repeat(64)}`, `/v2.1/****/${"y".repeat(64)}`],
    ["/a".repeat(300), `${"/a".repeat(100)}...`],
  ] as const) {
    await fetch(`${url}${path}`);
    assert.equal(served.at(-1)?.path, logged ?? path);
  }
});

test("a connection that the system does not accept does not end the service", async (t) => {
  const { url } = await listening(t);
  const { host } = new URL(url);
  const servers: Server[] = [];
  // Other services of this process also publish their requests.
  const note = (message: unknown): void => {
    // The form is that of the channel, as Node documents it.
    const { request, server } = message as { request: { headers: object }; server: Server };
    if ("host" in request.headers && request.headers.host === host) servers.push(server);
  };
  subscribe("http.server.request.start", note);
  t.after(() => unsubscribe("http.server.request.start", note));
  assert.equal((await fetch(`${url}/said`)).status, 200);
  servers[0]?.emit("error", Object.assign(new Error("accept ENOBUFS"), { code: "ENOBUFS" }));
  assert.equal((await fetch(`${url}/said`)).status, 200);
  assert.equal(servers.length, 2);
});

test("a HEAD has no body, and no piece of one is made", async (t) => {
  let made = 0;
  const pieces = async function* () {
    made += 1;
    yield "piece";
  };
  const { url } = await listening(t, { routes: [piecewise(pieces)] });
  const head = await wire(t, url, line("HEAD", "/pieces")).ended;
  assert.match(head, /^HTTP\/1\.1 200 .*\r\n\r\n$/s);
  assert.equal(made, 0);
  assert.match(await wire(t, url, line("GET", "/pieces")).ended, /piece/);
});

test("a head that is too long is 431, a body that is too long 413", async (t) => {
  const { url, served } = await listening(t);
  const long = line("GET", "/said", `X-Auth-Token: ${"x".repeat(17 * 1024)}`);
  assert.equal(statusOf(await wire(t, url, long).ended), 431);
  for (const pairs of [3500, 10_000]) {
    const query = line("GET", `/said?${"q=1&".repeat(pairs)}`);
    assert.equal(statusOf(await wire(t, url, query).ended), pairs === 3500 ? 200 : 431);
  }
  const declared = line("POST", "/said", "Content-Length: 70000");
  assert.match(await wire(t, url, declared).ended, /^HTTP\/1\.1 413 .*overLimit/s);
  const chunk = `8000\r\n${"x".repeat(0x8000)}\r\n`;
  const chunked = line("POST", "/said", "Transfer-Encoding: chunked") + chunk.repeat(3);
  assert.equal(statusOf(await wire(t, url, chunked).ended), 413);
  const most = line("POST", "/said", "Content-Length: 65536") + "x".repeat(65_536);
  assert.match(await wire(t, url, most).ended, /"bytes":65536/);
  const statuses = served.map(({ status }) => status);
  assert.deepEqual(statuses, [200, 413, 413, 200]);
});

test("a request that does not arrive in time is 408", async (t) => {
  // Node looks at a clock of its own.
  for (const limit of ["arrival", "checking"] as const) shorter(t, limit, 1);
  const { url } = await listening(t);
  const body = `${line("POST", "/said", "Content-Length: 10")}x`;
  for (const slow of ["GET /said HTTP/1.1\r\nHost", body])
    assert.equal(statusOf(await wire(t, url, slow).ended), 408);
});

test("one connection too many is closed at once, and room is made again", async (t) => {
  const { url } = await listening(t, { maxConnections: 2 });
  const idle = [wire(t, url), wire(t, url)];
  await idle[1]?.socket.write("GET /said HTTP/1.1\r\nHost: here\r\n\r\n");
  await idle[1]?.until(/"bytes"/);
  assert.equal(await wire(t, url, line("GET", "/said")).ended, "");
  idle[0]?.socket.destroy();
  for (let answer = 0; answer !== 200; )
    answer = statusOf(await wire(t, url, line("GET", "/said")).ended);
});

test("what is sent ahead is answered in its order", async (t) => {
  const slow: ServedRoute = {
    path: /^\/slow/,
    async answer({ path }) {
      for (let turns = path.endsWith("0") ? 50 : 1; turns > 0; turns -= 1) await turn();
      return { status: 200, fields: {}, body: path };
    },
  };
  const { url } = await listening(t, { routes: [slow] });
  const sent = Array.from({ length: 50 }, (_, at) => String(at));
  const ahead = sent.map((at) => `GET /slow/${at} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const all = await wire(t, url, ahead.join("") + line("GET", "/slow/last")).ended;
  const paths = [...all.matchAll(/\/slow\/(\d+|last)/g)].map(([, at]) => at);
  assert.deepEqual(paths, [...sent, "last"]);
});

test("a connection that sends more requests than anybody means is closed, and few of them are begun", async (t) => {
  const { slow, free } = heldRoute();
  const { url, served } = await listening(t, { routes: [slow] });
  const one = "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n";
  const flood = wire(t, url, one.repeat(20_000));
  assert.equal((await fetch(`${url}/said`)).status, 404, "it answers others meanwhile");
  free();
  await flood.ended;
  assert.match(await wire(t, url, line("GET", "/slow")).ended, /^HTTP\/1\.1 200/);
  assert.ok(served.length <= LIMITS.requests + 2, String(served.length));
});

test("what is no request is refused, and the process goes on", async (t) => {
  const { url } = await listening(t);
  const both = "Transfer-Encoding: chunked\r\nContent-Length: 5";
  for (const bad of [
    "GET /said\0 HTTP/1.1\r\nHost: a\r\n\r\n",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "NONSENSE / HTTP/1.1\r\n\r\n",
    `POST /said HTTP/1.1\r\nHost: a\r\n${both}\r\n\r\n0\r\n\r\n`,
    "POST /said HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "POST /said HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\nx",
    "POST /said HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    "GET /said HTTP/1.1\r\nHost: a\r\nX: y\n\r\nz: \x01\r\n\r\n",
  ])
    assert.equal(statusOf(await wire(t, url, bad).ended), 400, JSON.stringify(bad));
  const connects = await wire(t, url, "CONNECT here:80 HTTP/1.1\r\nHost: here\r\n\r\n").ended;
  assert.equal(connects, "");
  const upgrade = line("GET", "/said", "Upgrade: websocket").replace("close", "upgrade, close");
  assert.equal(statusOf(await wire(t, url, upgrade).ended), 200);
  assert.equal(statusOf(await wire(t, url, line("GET", "http://other/said?x")).ended), 200);
  assert.equal((await fetch(`${url}/said`)).status, 200);
});

test("an answer that breaks in the middle takes its connection with it, and the log says why", async (t) => {
  const pieces = async function* () {
    yield '{"nodes": [';
    await turn();
    throw new Error("nothing more came");
  };
  const { url, served } = await listening(t, { routes: [piecewise(pieces)] });
  const answer = await wire(t, url, line("GET", "/pieces")).ended;
  assert.match(answer, /\{"nodes": \[\r\n$/);
  assert.deepEqual([served[0]?.status, served[0]?.broken], [200, "nothing more came"]);
});

test("a refusal of this tool's is 503, a bug 500 with its reason in the log alone", async (t) => {
  const throwing: ServedRoute = {
    path: /^\/(bug|away)/,
    answer: ({ path }) => {
      if (path === "/bug") throw new TypeError("x is not a function");
      throw new MigrationError("N2I-E210", "Keystone does not answer");
    },
  };
  const { url, served } = await listening(t, { routes: [throwing] });
  const [bug, away] = [await fetch(`${url}/bug`), await fetch(`${url}/away`)];
  assert.deepEqual([bug.status, away.status], [500, 503]);
  assert.doesNotMatch(await bug.text(), /function/);
  assert.match(await away.text(), /Keystone does not answer/);
  assert.match(served[0]?.broken ?? "", /x is not a function/);
});

test("a caller who leaves, or does not read, is not fetched for", async (t) => {
  let [made, ended] = [0, 0];
  const pieces = async function* () {
    try {
      for (; made < 10_000; made += 1) yield "x".repeat(64 * 1024);
    } finally {
      ended += 1;
    }
  };
  const whole: ServedRoute = {
    path: /^\/whole$/,
    answer: () => Promise.resolve({ status: 200, fields: {}, body: "x".repeat(64 * 1024 * 1024) }),
  };
  const { url, served } = await listening(t, { routes: [piecewise(pieces), whole] });
  const leaving = wire(t, url, line("GET", "/pieces"));
  await leaving.until(/xxx/);
  leaving.socket.destroy();
  while (served.length < 1) await turn();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  for (const [at, path] of ["/pieces", "/whole"].entries()) {
    wire(t, url, line("GET", path)).socket.pause();
    while (served.length < 2 + at) {
      await turn();
      t.mock.timers.tick(LIMITS.unread);
    }
  }
  assert.equal(ended, 2);
  assert.ok(made < 1000, `${made} pieces were made`);
  const [left, ...others] = served.map(({ broken }) => broken);
  assert.equal(left, "the caller closed the connection");
  assert.deepEqual(others, Array(2).fill("the caller does not read the response"));
});

test("at the end what is under way is answered whole, idle connections are closed, and none is taken", async (t) => {
  const more = signal();
  const pieces = async function* () {
    yield "first ";
    await more.isSet;
    yield "last";
  };
  const { url, end } = await listening(t, { routes: [piecewise(pieces)] });
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const answer = new Promise<string>((resolve) => {
    get(`${url}/pieces`, { agent }, (response) => resolve(text(response)));
  });
  const idle = wire(t, url, "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n");
  await idle.until(/itemNotFound/);
  const silent = wire(t, url);
  await once(silent.socket, "connect");
  const ended = end();
  await idle.ended;
  more.set();
  assert.equal(await answer, "first last");
  silent.socket.destroy();
  await ended;
  await assert.rejects(fetch(`${url}/pieces`));
});

test("what is not done when the time is up is cut", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const never = piecewise(async function* () {
    yield "first";
    await new Promise(() => undefined);
  });
  const { url, end } = await listening(t, { routes: [never] });
  const open = wire(t, url, line("GET", "/pieces"));
  await open.until(/first/);
  const ended = end();
  t.mock.timers.tick(LIMITS.ending);
  await ended;
  assert.doesNotMatch(await open.ended, /0\r\n\r\n$/);
});

test("it speaks TLS with its certificate, and says so where plain HTTP comes", async (t) => {
  const ca = authority(t);
  const own = putPair(ca, ca.signs("IP:127.0.0.1", 1));
  const how = { ca: readFileSync(ca.file), agent: false };
  const { url } = await listening(t, { tls: own, maxConnections: 1 });
  assert.match(url, /^https:/);
  const answer = await new Promise<string>((resolve, reject) => {
    tlsGet(`${url}/said`, how, (response) => resolve(text(response))).on("error", reject);
  });
  assert.match(answer, /"bytes":0/);
  await wire(t, url, line("GET", "/said")).ended;
  const again = new Promise<number>((resolve, reject) => {
    const asked = tlsGet(`${url}/said`, how, ({ statusCode = 0 }) => resolve(statusCode));
    asked.on("error", reject);
  });
  assert.equal(await again, 200);
});

test("an address that is taken, forbidden or not ours, and a wrong certificate, are refused as that", async (t) => {
  const { url } = await listening(t);
  const refuses = (more: object, code: string) => assert.rejects(listening(t, more), { code });
  await refuses({ port: Number(new URL(url).port) }, "N2I-E117");
  await refuses({ host: "192.0.2.1" }, "N2I-E117");
  await refuses({ tls: { cert: "/nonexistent", key: "/nonexistent" } }, "N2I-E116");
  await refuses({ tls: { cert: import.meta.filename, key: import.meta.filename } }, "N2I-E116");
});
