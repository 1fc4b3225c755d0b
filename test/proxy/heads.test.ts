import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { answerTo, requestHeads } from "../support/request-heads.ts";
import { holdsLater } from "../support/seeded.ts";
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
  const heads = fc.array(requestHeads(paths), { minLength: TOGETHER, maxLength: TOGETHER });
  // N2I_RUNS=5000 sends 100,000.
  await holdsLater(40, heads, async (sent) => {
    for (const answer of await Promise.all(
      sent.map((head) => answerTo(proxy.url, head, PATIENCE)),
    )) {
      if (answer !== "") assert.match(answer, STATUS);
      answered += answer === "" ? 0 : 1;
      listed += answer.includes('{"nodes": [') ? 1 : 0;
    }
    for (const path of calls()) assert.match(path, ASKED);
  });
  // Not a claim: a busy machine answers some after the sender has given up.
  t.diagnostic(`${answered} answers, ${listed} lists`);
  assert.equal((await ask(`GET ${LIST}`)).status, 200);
});
