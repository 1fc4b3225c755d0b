import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../grenade/lib/wait.ts";
import { apiOf } from "../lab/ironic/api.ts";
import { paired } from "../manage/fake-pair.ts";
import type { RealScene } from "../manage/real-served.ts";
import type { Who } from "../proxy/questions.ts";
import { asking, sentence, started } from "./switch-served.ts";

const PLACE = 90;

/** Before a real Keystone and Ironic: whose token may, what he sees with it, and whose login does the steps. */
export async function switchedForReal({ cloud, ironic, env, folder, tokens }: RealScene) {
  const pair = await paired(ironic, PLACE);
  const file = join(folder, "switch-policy.yaml");
  writeFileSync(file, '"baremetal:node:switchover": "role:admin or role:member"\n');
  const [state, said] = [join(folder, "switched"), [] as string[]];
  const open = (more: { readonly policyFile?: string } = {}) =>
    started(env, said, {
      ...{ state, proofInterval: 0, ironicUrl: ironic.url, ...more },
      keystoneUrl: cloud.env.OS_AUTH_URL ?? "",
    });
  const [source, spare] = [`n-${PLACE}`, `s-${PLACE}`];
  const put = (url: string, who: Who, node = source) =>
    asking(url, node, { target_node: spare }, { token: tokens[who] });

  const usual = await open();
  for (const [who, status] of [
    ["nobody", 401],
    ["forged", 401],
    ["revoked", 401],
    ["restricted", 401],
    ["member", 403],
    ["reader", 403],
  ] as const)
    assert.equal((await put(usual.url, who)).status, status, who);
  assert.equal((await put(usual.url, "admin", "n-91")).status, 404);
  await usual.end();

  const { url, end } = await open({ policyFile: file });
  assert.equal((await put(url, "reader")).status, 403);
  // Whom the policy lets, and Ironic shows none of its nodes.
  const unseen = await put(url, "member");
  assert.equal(unseen.status, 404, unseen.text);
  assert.equal(sentence(unseen), `Node ${source} could not be found.`);
  const accepted = await put(url, "admin");
  assert.deepEqual([accepted.status, accepted.text], [202, ""], accepted.text);
  const path = accepted.fields.get("location") ?? "";
  const show = (who: Who) => asking(url, path, undefined, { method: "GET", token: tokens[who] });
  await until("the switchover is DONE", async () => {
    const { text } = await show("admin");
    assert.match(text, /"error":null/, said.join("\n"));
    return /"state":"DONE"/.test(text) ? null : text;
  });
  assert.equal((await show("member")).status, 404);
  await end();
  const { body } = await apiOf(ironic)("GET", `/v1/nodes/${pair.spare}`);
  const { instance_uuid, provision_state } = body as { readonly [field: string]: unknown };
  assert.deepEqual([instance_uuid, provision_state], [pair.instance, "active"]);
  const kept = readdirSync(state, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => readFileSync(join(one.parentPath, one.name), "utf8"));
  assert.ok(kept.length > 0);
  const all = [...kept, ...said].join("\n");
  for (const token of [tokens.admin, tokens.member])
    assert.equal(all.includes(String(token)), false, "a caller's token is kept nowhere");
}
