import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { openHttp } from "../../../src/edge/openstack/http.ts";

const NONE = { cacert: null, cert: null, key: null, insecure: false };

test("an answer that does not end is refused once it is too long, and its connection is closed", async (t) => {
  const block = Buffer.alloc(1024 * 1024, 0x20);
  let [sent, closed] = [0, false];
  const server = createServer((_, answer) => {
    answer.on("close", () => {
      closed = true;
    });
    const more = (): void => {
      while (!closed && answer.write(block)) sent += 1;
    };
    answer.on("drain", more);
    more();
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const http = openHttp(NONE, 30_000);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/nodes?x=1`;
  await assert.rejects(http.send({ method: "GET", url, headers: {} }), {
    code: "N2I-E220",
    message: url.replace("?x=1", " answered with more than 64 MiB"),
  });
  while (!closed) await once(server, "close", { signal: AbortSignal.timeout(50) }).catch(() => {});
  assert.ok(sent < 90, `${sent} MiB were taken`);
  http.close();
});

test("an answer that trickles ends with the time limit of its call", async (t) => {
  const server = createServer((_, answer) => {
    const timer = setInterval(() => answer.write(" "), 20);
    answer.on("close", () => clearInterval(timer));
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const http = openHttp(NONE, 300);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  assert.deepEqual(await http.send({ method: "GET", url, headers: {} }), {
    status: 0,
    why: "no answer in 0.3 s",
  });
  http.close();
});
