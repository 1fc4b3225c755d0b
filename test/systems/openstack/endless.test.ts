import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createRaw, type Socket } from "node:net";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { openHttp } from "../../../src/systems/openstack/http.ts";
import { listening, portOf } from "../../support/listening.ts";

const NONE = { cacert: null, cert: null, key: null, insecure: false };
const asking = (url: string) => ({ method: "GET", url, headers: {} }) as const;

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
  });
  const url = `${await listening(t, server)}/v1/nodes?x=1`;
  const http = openHttp(NONE, 600_000);
  await assert.rejects(http.send(asking(url)), {
    code: "N2I-E220",
    message: url.replace("?x=1", " answered with more than 64 MiB"),
  });
  while (!closed) await turn();
  assert.ok(sent < 90, `${sent} MiB were taken`);
  http.close();
});

test("an answer that trickles ends with the time limit of its call", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const server = createServer((_, answer) => {
    const timer = setInterval(() => {
      answer.write(" ");
      // Each piece takes a third of what the whole call may take.
      t.mock.timers.tick(100);
    }, 1);
    answer.on("close", () => clearInterval(timer));
  });
  const url = await listening(t, server);
  const http = openHttp(NONE, 300);
  assert.deepEqual(await http.send(asking(url)), { status: 0, reason: "no answer in 0.3 s" });
  http.close();
});

test("a time limit that no timer can keep is a long one, not none", async (t) => {
  const timer = t.mock.method(globalThis, "setTimeout");
  const server = createServer((_, answer) => void answer.end("late"));
  const url = await listening(t, server);
  const http = openHttp(NONE, 3_000_000_000);
  t.after(http.close);
  assert.equal((await http.send(asking(url))).status, 200);
  // Node makes a timer of more milliseconds than 31 bits hold one of a single millisecond.
  const longest = Math.max(...timer.mock.calls.map(({ arguments: [, wait = 0] }) => wait));
  assert.equal(longest, 2 ** 31 - 1);
});

/** What a service says to a request before it says no more, and what is told of it. */
const UNFINISHED = [
  ["nothing", "", "no answer in 0.3 s"],
  ["half of its headers", "HTTP/1.1 200 OK\r\nContent-", "no answer in 0.3 s"],
  ["half of its body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "no answer in 0.3 s"],
  [
    "that it changes the protocol",
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    "the connection was lost",
  ],
] as const;
for (const [what, says, why] of UNFINISHED) {
  test(`a service that answers ${what} is told as none, its connection closed`, async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const server = createRaw((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.write(says, () => t.mock.timers.tick(300)));
    });
    const url = `http://127.0.0.1:${await portOf(t, server)}/`;
    const connected = once(server, "connection") as Promise<[Socket]>;
    const http = openHttp(NONE, why.startsWith("no answer") ? 300 : 60_000);
    t.after(http.close);
    const answer = http.send(asking(url));
    const [socket] = await connected;
    // A connection that is closed before all was read is reset, which is closed too.
    const closed = new Promise((resolve) => socket.once("close", resolve));
    assert.deepEqual(await answer, { status: 0, reason: why });
    await closed;
  });
}
