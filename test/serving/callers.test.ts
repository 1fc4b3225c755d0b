import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { connect as tlsConnect } from "node:tls";
import type { ServedRoute } from "../../src/serving/listener.ts";
import { authority } from "../support/certificates.ts";
import { putPair } from "../systems/openstack/demanding.ts";
import { heldRoute, line, listening, piecewise, wire } from "./scene.ts";

const HEAD = "GET /said HTTP/1.1\r\n";

/** Answers once its caller closed its side. */
const leftRoute: ServedRoute = {
  path: /^\/left$/,
  async answer({ isClosed: gone }) {
    while (!gone()) await turn();
    return { status: 200, fields: {}, body: "" };
  },
};

test("a client that closes its side after its request gets the whole answer, and the connection ends", async (t) => {
  const { slow, free } = heldRoute();
  const pieces = async function* () {
    yield "first ";
    await turn();
    yield "last";
  };
  const { url, served } = await listening(t, { routes: [slow, piecewise(pieces)] });
  const open = (method: string, path: string, body = ""): string =>
    `${method} ${path} HTTP/1.1\r\nHost: here\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  for (const [sent, whole] of [
    [line("GET", "/slow"), /^HTTP\/1\.1 200 /],
    [open("GET", "/slow"), /^HTTP\/1\.1 200 /],
    [open("POST", "/slow", "{}"), /^HTTP\/1\.1 200 /],
    ["GET /slow HTTP/1.0\r\n\r\n", /^HTTP\/1\.1 200 /],
    [open("GET", "/pieces"), /first .*last\r\n0\r\n\r\n$/s],
    [open("GET", "/slow") + open("GET", "/pieces"), /200 OK.*200 OK.*last\r\n0\r\n\r\n$/s],
  ] as const) {
    const { socket, ended } = wire(t, url, sent);
    socket.end();
    // Another caller's answer comes after the end of the first one's side.
    await wire(t, url, line("GET", "/nowhere")).ended;
    free();
    assert.match(await ended, whole, sent);
  }
  assert.ok(served.every(({ broken }) => broken === undefined));
  const idle = wire(t, url);
  idle.socket.end();
  assert.equal(await idle.ended, "");
  const part = wire(t, url, "POST /slow HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\n{");
  part.socket.end();
  assert.match(await part.ended, /^HTTP\/1\.1 400 /);
});

test("a TLS client that closes its side gets the whole answer", async (t) => {
  const ca = authority(t);
  const own = putPair(ca, ca.signs("IP:127.0.0.1", 1));
  const { url } = await listening(t, { tls: own, routes: [leftRoute] });
  const port = Number(new URL(url).port);
  const socket = tlsConnect({ host: "127.0.0.1", port, ca: readFileSync(ca.file) });
  t.after(() => socket.destroy());
  socket.end("GET /left HTTP/1.1\r\nHost: here\r\n\r\n");
  assert.match(await text(socket), /^HTTP\/1\.1 200 /);
});

test("a route sees that its caller is gone, or closed its side, and that another is not", async (t) => {
  const stays: ServedRoute = {
    path: /^\/stays$/,
    answer: ({ isClosed: gone }) =>
      Promise.resolve({ status: gone() ? 500 : 200, fields: {}, body: "" }),
  };
  const { url, served } = await listening(t, { routes: [leftRoute, stays] });
  for (const leave of ["destroy", "end", "resetAndDestroy"] as const) {
    const { socket } = wire(t, url, "POST /left HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n");
    const before = served.length;
    socket.write("x", () => socket[leave]());
    while (served.length === before) await turn();
  }
  const open = "GET /stays HTTP/1.1\r\nHost: here\r\n\r\n";
  const answers = await wire(t, url, open + line("GET", "/stays")).ended;
  assert.equal(answers.match(/^HTTP\/1\.1 200 /gm)?.length, 2);
});

test("a request with two Hosts, two Content-Types, no Host or no host in it is 400, and no route sees it", async (t) => {
  const { url, served } = await listening(t);
  const refused = async (fields: string, status = 400): Promise<string> => {
    const answer = await wire(t, url, `${HEAD}${fields}Connection: close\r\n\r\n`).ended;
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), JSON.stringify(fields));
    return answer;
  };
  for (const hosts of ["Host: a\r\nHost: b\r\n", "Host: a\r\nHost: a\r\n", "Host: a\r\nhOST:\r\n"])
    assert.match(await refused(hosts), /more than one Host header/);
  const types = "Content-Type: application/json\r\nContent-Type: text/plain\r\n";
  assert.match(await refused(`Host: a\r\n${types}`), /more than one Content-Type header/);
  for (const host of ["a b", "a/b", "a@b", "a?b", "a#b", "a\\b", '"a"', "<a>", "a\u00ff"])
    assert.match(await refused(`Host: ${host}\r\n`), /Host header is neither/);
  assert.equal(served.length, 13);
  assert.ok(served.every(({ status, calls }) => status === 400 && calls === 0));
  await refused("");
  for (const host of ["", "a", "a:80", "nova.example.org:8774", "[::1]:8785", "10.0.0.1", "a_b"])
    await refused(`Host: ${host}\r\n`, 200);
  assert.match(await wire(t, url, "GET /said HTTP/1.0\r\n\r\n").ended, /^HTTP\/1\.1 200 /);
  // Bytes behind such a request are none of another.
  const smuggled = `${HEAD}Host: a\r\nHost: b\r\n\r\n${line("GET", "/said")}`;
  assert.equal((await wire(t, url, smuggled).ended).match(/HTTP\/1\.1 /g)?.length, 1);
});
