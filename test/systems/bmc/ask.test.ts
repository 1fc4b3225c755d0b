import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { PowerProbe } from "../../../src/model/power.ts";
import { askQuestions, openNative } from "../../../src/systems/bmc/power-ask.ts";
import { stream } from "../../lib/ipmi/play.ts";
import { LOGIN } from "../../lib/ipmi/sim.ts";
import { udpBmc } from "../../lib/ipmi/udp-bmc.ts";

const LIMITS = { deadline: 5000, signal: new AbortController().signal };

function native(t: TestContext, conductor: "1.8.18" | "1.8.19" = "1.8.19"): PowerProbe {
  const { ask, close } = openNative(conductor);
  t.after(close);
  return ask;
}

test("the library's answer is our reading, its observations our findings", async (t) => {
  const users = [LOGIN.user, ""].map((name) => ({ name, password: LOGIN.password }));
  const { question } = await udpBmc(t, { users, listed: [0, 3] });
  const before = new Date().toISOString();
  const reading = await native(t)(question, LIMITS);
  const { bm_node_ids, client, verdict, detail, power, suite, pass, advice } = reading;
  assert.deepEqual([bm_node_ids, client, verdict, detail], [[1], "native", "ok", "power is on"]);
  assert.deepEqual([power, suite, pass, advice], ["on", 3, 1, []]);
  assert.deepEqual(reading.warnings, ["N2I-D620", "N2I-D621", "N2I-D622"]);
  assert.ok(reading.asked_at >= before);
  assert.ok(!("startedAt" in reading) && !("observations" in reading));
});

test("each conductor's choice of cipher suite is followed", async (t) => {
  const { question } = await udpBmc(t);
  assert.equal((await native(t, "1.8.18")(question, LIMITS)).suite, 3);
  const another = { ...question, port: await other(t) };
  assert.equal((await native(t, "1.8.19")(another, LIMITS)).suite, 17);
});

test("who will not ask a BMC for its suites has a reading that did not ask before it", async (t) => {
  const { bmc, question } = await udpBmc(t, { silentAfterList: true, listed: [3] });
  for (const [conductor, asked] of [
    ["1.8.18", question],
    ["1.8.19", { ...question, suite: 3 }],
  ] as const) {
    const { power, attempts, warnings } = await native(t, conductor)(asked, LIMITS);
    assert.deepEqual([power, attempts, warnings], ["on", 1, ["N2I-D621"]]);
  }
  assert.equal(bmc.counts.lists, 2);
});

test("of a BMC that is too old we say that nova-baremetal did not use it so", async (t) => {
  const { question } = await udpBmc(t, { version2: false });
  const { verdict, detail } = await native(t)(question, LIMITS);
  assert.equal(verdict, "no-ipmi2");
  assert.equal(detail, "supports only IPMI 1.5, which nova-baremetal did not use");
});

test("where a BMC does not say it in so many words, pm_user is named", async (t) => {
  const { question } = await udpBmc(t, { unknownUser: 0x12 });
  const { detail } = await native(t)({ ...question, user: "nobody" }, LIMITS);
  assert.equal(
    detail,
    "RAKP 2 returned 0x12: illegal parameter, probably an unknown user name: correct pm_user",
  );
});

test("machines that share BMC and login are asked once, and the reading is of all", async (t) => {
  const { bmc, question } = await udpBmc(t);
  const questions = [1, 2, 3].map((id) => ({ ...question, bm_node_ids: [id, id + 10] }));
  const found = [];
  for await (const reading of askQuestions(stream(questions), native(t), LIMITS))
    found.push(reading);
  const readings = found.map(({ bm_node_ids, power }) => [bm_node_ids, power]);
  assert.deepEqual(readings, [[[1, 11, 2, 12, 3, 13], "on"]]);
  assert.equal(bmc.counts.opens, 1);
});

async function other(t: TestContext): Promise<number> {
  return (await udpBmc(t)).question.port ?? 0;
}
