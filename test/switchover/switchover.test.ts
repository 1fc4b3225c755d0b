import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { uuidOf } from "../manage/in-memory.ts";
import { writes } from "../manage/scene.ts";
import { instead } from "../support/faulty-service.ts";
import { blocks, commands, expected, page } from "../support/manual.ts";
import { hurried } from "./scene.ts";
import {
  addPair,
  addSpare,
  SECRET,
  SOURCE,
  SPARE,
  switchable,
  switchedDump,
} from "./switch-memory.ts";

async function scene(t: TestContext) {
  hurried(t);
  const cloud = await switchable(t);
  addPair(cloud);
  const folder = privateFolder(t);
  const clouds = join(folder, "clouds.yaml");
  const lab = { auth_type: "none", baremetal_endpoint_override: cloud.ironic };
  writeFileSync(clouds, JSON.stringify({ clouds: { lab } }));
  const how = { env: { OS_CLIENT_CONFIG_FILE: clouds } };
  const path = join(folder, "o1");
  const own = ["--run", path, "--os-cloud", "lab", "--proof-interval", "0"];
  const here = (word: string): string => (word === "o1" ? path : word);
  const says = async (words: readonly string[]): Promise<string> => {
    const { out, err } = await runs(0, words.map(here), how);
    return out + err;
  };
  return { cloud, how, own, path, says, before: switchedDump(cloud) };
}

test("the manual's commands of a switchover do what they say, and no secret of a volume is told", async (t) => {
  const { cloud, path, says, before } = await scene(t);
  const told: string[] = [];
  for (const words of commands(page("switchover"))) told.push(await says(words));
  const preview =
    /\| +1 \| s-1 +\|[\s\S]*SRC_OFF +\|[\s\S]*Nothing was changed, and no run was created/;
  assert.match(told.join(""), preview);
  assert.equal(switchedDump(cloud), before);
  assert.equal(existsSync(path), false);
  const lines = blocks(page("switchover"), "sh").flatMap((block) => block.trim().split("\n"));
  const [act = [], status = [], verify = []] = lines.map((line) => line.split(" ").slice(1));
  // What it waits for in a machine room takes its time.
  const ran = await says([...act, "--proof-interval", "0"]);
  assert.match(
    ran,
    /Switchover: instance \S+ of \S+-0+1 \(n-1-failed-\d{14}\) runs on \S+ \(n-1\)\./,
  );
  assert.match(ran, /Next: nova2ironic verify/);
  told.push(ran, await says(status), await says(verify));
  assert.match(told.at(-2) ?? "", /DONE/);
  for (const line of expected("switchover")) assert.ok(told.join("").includes(line), line);
  told.push(await says(["show", join(path, "journal.jsonl")]));
  assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"]);
  const again = await says([...act, "--proof-interval", "0"]);
  assert.match(again, /Switchover: instance/);
  assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"], "and nothing is done twice");
  const back = await run(["rollback", "--run", path, "--all", "--yes"]);
  assertRefusal({ ...back, out: "" }, 4, "N2I-E391", /the deployment of node s-1 .* has started/);
  const files = readdirSync(path).map((name) => readFileSync(join(path, name), "utf8"));
  assert.doesNotMatch([...told, ...files].join(""), new RegExp(SECRET));
});

test("what a check refuses changes nothing", async (t) => {
  const { cloud, how, own, path, before } = await scene(t);
  const [source, spare] = [cloud.nodes.get(SOURCE) ?? {}, cloud.nodes.get(SPARE) ?? {}];
  const kept = structuredClone([source, spare]);
  for (const [words, change, status, code, why] of [
    [["n-1", "n-1"], {}, 4, "N2I-E384", /the source itself/],
    [["n-9"], {}, 64, "N2I-E306", /no node "n-9"/],
    [
      ["n-1", "s-1", "--destination", "x"],
      {},
      64,
      "N2I-E100",
      /<name> and --destination are mutually exclusive/,
    ],
    [["n-1", "--soft-timeout=-1"], {}, 64, "N2I-E100", /--soft-timeout takes a number/],
    [["n-1"], { source: { storage_interface: "noop" } }, 4, "N2I-E382", /noop, not external/],
    [["n-1"], { source: { protected: true } }, 4, "N2I-E383", /n-1: it is protected/],
    [["n-1", "s-1"], { spare: { reservation: "h" } }, 11, "N2I-E380", /locked by host h/],
    [["n-1"], { source: { allocation_uuid: null } }, 4, "N2I-E385", /a Nova server/],
    [["n-1"], { source: { reservation: "h" } }, 11, "N2I-E380", /locked by host h/],
    [["n-1", "s-1"], { spare: { resource_class: "x" } }, 4, "N2I-E386", /resource_class: /],
    [["n-1"], { spare: { resource_class: "x" } }, 4, "N2I-E387", /closest is s-1: resource_class/],
  ] as const) {
    const { source: of = {}, spare: and = {} } = change as { source?: object; spare?: object };
    Object.assign(source, of);
    Object.assign(spare, and);
    cloud.calls.length = 0;
    const ran = await run(["node", "switchover", ...words, ...own], how);
    assertRefusal({ ...ran, out: "" }, status, code, why);
    assert.deepEqual(writes(cloud), []);
    Object.assign(source, kept[0]);
    Object.assign(spare, kept[1]);
  }
  assert.equal(switchedDump(cloud), before);
  await runs(0, ["node", "switchover", "n-1", "s-1", ...own, "--dry-run"], how);
  assert.equal(existsSync(join(path, "journal.jsonl")), false);
});

test("what hangs on nodes is asked of the two alone, and of a spare that may fit", async (t) => {
  const { cloud, how, own } = await scene(t);
  const other = uuidOf(1, 12);
  const like = structuredClone(cloud.nodes.get(SPARE) ?? {});
  cloud.nodes.set(other, { ...like, uuid: other, name: "a-other", resource_class: "x" });
  cloud.calls.length = 0;
  for (const named of [[], ["s-1"]])
    await runs(0, ["node", "switchover", "n-1", ...named, ...own, "--dry-run"], how);
  const asked = cloud.calls.filter((call) =>
    /^GET \/v1\/(volume\/)?(ports|portgroups|connectors|targets)\?/.test(call),
  );
  // Whether another node has one of its volumes is a question about all.
  const shared = asked.filter((call) => call.endsWith("&fields=uuid,node_uuid,volume_id"));
  assert.equal(shared.length, 2);
  const nodes = asked.flatMap((query) => /&node=([^&]*)/.exec(query)?.[1] ?? []);
  assert.equal(nodes.length, asked.length - shared.length, "each is of one node");
  assert.deepEqual([...new Set(nodes)].toSorted(), [SOURCE, SPARE]);
});

test("what breaks once the nodes are marked leaves the switchover halfway, and the source as it is", async (t) => {
  const invalid = JSON.stringify({ boot: { result: false, reason: "no iPXE file" } });
  for (const [call, text, why] of [
    [`GET /v1/nodes/${SPARE}/validate`, invalid, /N2I-E390 .*does not validate: .*no iPXE file/s],
    [`GET /v1/nodes/${SOURCE}/vifs`, "[]", /N2I-E301 .*node switchover stopped.*N2I-E212/],
  ] as const) {
    const { cloud, how, own } = await scene(t);
    cloud.fail(call, instead(200, text));
    const ran = await runs(5, ["node", "switchover", "n-1", "s-1", ...own], how);
    assert.match(ran.err, why);
    assert.equal(cloud.nodes.get(SOURCE)?.provision_state, "active");
    cloud.use(() => null);
    assert.equal((await run(["node", "switchover", "n-1", "s-1", ...own], how)).status, 0);
  }
});

test("a spare that another switchover marked last is left to it, and the same command takes the next one", async (t) => {
  const { cloud, how, own } = await scene(t);
  const [first, next] = [cloud.nodes.get(SPARE) ?? {}, addSpare(cloud, 1)];
  let marked = false;
  cloud.use((call) => {
    if (marked && call === `GET /v1/nodes/${SPARE}`)
      first.extra = { own: true, nova2ironic_switchover: "another's" };
    marked ||= call === `PATCH /v1/nodes/${SPARE}`;
  });
  const ran = await runs(11, ["node", "switchover", "n-1", ...own], how);
  assert.match(ran.err, /in switchover another's: /);
  assert.equal(ran.err.includes("to choose a different spare"), true);
  const { out } = await runs(0, ["node", "switchover", "n-1", ...own], how);
  assert.match(out, new RegExp(`runs on ${next} \\(n-1\\)`));
  assert.deepEqual(first.extra, { own: true, nova2ironic_switchover: "another's" });
});

test("the site's fence is given the source's uuid, and is asked only where its BMC is dead", async (t) => {
  const { cloud, how, own, path } = await scene(t);
  const [fence, heard] = [`${path}-fence`, `${path}-heard`];
  writeFileSync(fence, `#!/bin/sh\necho "$1 $NOVA2IRONIC_NODE_NAME" >>${heard}\n`, { mode: 0o700 });
  cloud.setMachine(SOURCE, { dead: true, on: false });
  const words = ["--proof-timeout", "0", "--fence-command", fence, "--leave-nova"];
  await runs(0, ["node", "switchover", "n-1", ...own, ...words], how);
  assert.equal(readFileSync(heard, "utf8"), `${SOURCE} n-1\n`);
  // A finished one is not compared again, and still prints what it owes.
  const again = await runs(0, ["node", "switchover", "n-1", ...own], how);
  assert.match(again.out, /UPDATE instances/);
});
