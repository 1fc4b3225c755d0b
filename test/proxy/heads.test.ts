import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { answerTo, requestHeads } from "../support/request-heads.ts";
import { seeded } from "../support/seeded.ts";
import { proxyScene } from "./scene.ts";
import { uuidOf } from "./stand-ins.ts";

const LIST = "/v2.1/os-baremetal-nodes";
const STATUS = /^HTTP\/1\.1 (\d{3}) /;
/** All that the proxy asks an Ironic for. */
const ASKED =
  /^\/v1\/(nodes\?fields=[a-z_,]+(&marker=[0-9a-f-]{36})?|nodes\/[A-Za-z0-9._~-]{1,255}\?fields=[a-z_,]+|ports\?node=[0-9a-f-]{36}&fields=address)$/;
/** Turns: an answer needs fewer. */
const PATIENCE = 200;
/** Heads of one run, sent at once. */
const TOGETHER = 20;

test("whatever is sent, what comes back is an answer, and Ironic is asked for nothing else", async (t) => {
  const { ask, calls, proxy } = await proxyScene(t, 3);
  const paths = [LIST, `/v2/os-baremetal-nodes/${uuidOf(2)}`, `${LIST}/node-1`, "/v2.1/servers"];
  let [answered, listed] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.array(requestHeads(paths), { minLength: TOGETHER, maxLength: TOGETHER }),
      async (heads) => {
        for (const answer of await Promise.all(
          heads.map((head) => answerTo(proxy.url, head, PATIENCE)),
        )) {
          if (answer !== "") assert.match(answer, STATUS);
          answered += answer === "" ? 0 : 1;
          listed += answer.includes('{"nodes": [') ? 1 : 0;
        }
        for (const path of calls()) assert.match(path, ASKED);
      },
    ),
    // N2I_RUNS=5000 sends 100,000, as the benchmark does.
    seeded(40),
  );
  // Not a claim: a busy machine answers some after the sender has given up.
  t.diagnostic(`${answered} answers, ${listed} lists`);
  assert.equal((await ask(`GET ${LIST}`)).status, 200);
});

test("what others have sent to break a service has an answer", async (t) => {
  const { ask, calls, proxy } = await proxyScene(t, 1);
  const head = (line: string, ...fields: readonly string[]): string =>
    [`${line} HTTP/1.1`, "Host: a", "X-Auth-Token: admin", ...fields, "", ""].join("\r\n");
  const closing = (path: string): string => head(`GET ${path}`, "Connection: close");
  const both = ["Transfer-Encoding: chunked", "Content-Length: 5"];
  for (const [sent, status] of [
    [closing(`${LIST}/a\0b`), 400],
    [closing(`${LIST}/a%00b`), 404],
    [closing(`${LIST}/../../v1/nodes`), 404],
    [closing(`${LIST}/..`), 404],
    [closing(`${LIST}/%2e%2e%2fconductors`), 404],
    [closing(`${LIST}/a%2fb`), 404],
    [closing(`${LIST}/${"x".repeat(256)}`), 404],
    [closing(`${LIST}/${"x".repeat(15_000)}`), 404],
    [closing(`${LIST}?${"q&".repeat(7000)}`), 200],
    [closing(`${LIST}?${"q=1&".repeat(10_000)}`), 431],
    [`${head(`POST ${LIST}`, ...both)}0\r\n\r\n`, 400],
    [head(`POST ${LIST}`, "Transfer-Encoding: chunked, identity"), 400],
    [head(`POST ${LIST}`, "Transfer-Encoding : chunked"), 400],
    [head(`POST ${LIST}`, "Content-Length: 5", "Content-Length: 6"), 400],
    [head(`POST ${LIST}`, "Content-Length: 65537"), 413],
    [head(`DELETE ${LIST}/x`, "Content-Length: 65537"), 413],
  ] as const) {
    const answer = await answerTo(proxy.url, Buffer.from(sent, "latin1"));
    assert.equal(Number(STATUS.exec(answer)?.[1]), status, JSON.stringify(sent.slice(0, 200)));
  }
  const ahead = head(`GET ${LIST}`).repeat(30) + closing(LIST);
  const all = await answerTo(proxy.url, Buffer.from(ahead));
  assert.equal(all.match(/^HTTP\/1\.1 200 /gm)?.length, 31);
  assert.ok(calls().every((path) => path.startsWith("/v1/nodes?")));
  assert.equal((await ask(`GET ${LIST}`)).status, 200);
});
