import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { MigrationError } from "../../src/lib/error.ts";
import { processContext, surrounded } from "../../src/run/process-context.ts";
import { patiently } from "../../src/takeover/agent/agent-watch.ts";
import { ends, run } from "../hostile/cli.ts";
import { quickClock } from "../lab/bmc/quick-clock.ts";
import { type Cloud, cloud, looksUntil, SILENT, taken, until } from "./agent-cloud.ts";
import { uuidOf } from "./cloud.ts";
import { inPlace, moveOf, report, runAt } from "./legacy-cloud.ts";
import { does } from "./legacy-does.ts";

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A fence of the site that does not end; the file that gets its process's number. */
function endlessFence({ folder }: Cloud) {
  const [program, pid] = [join(folder, "fence"), join(folder, "pid")];
  const script = `#!/bin/sh\necho $$ >${pid}.new\nmv ${pid}.new ${pid}\nexec sleep 9999\n`;
  writeFileSync(program, script, { mode: 0o700 });
  return { pid, isStarted: async () => existsSync(pid), more: { fenceCommand: program } };
}

test("an agent that ends does not wait for the site's fence, which ends with it", async (t) => {
  const made = await cloud("sqlite", t, { machines: 2 });
  const { pid, isStarted, more } = endlessFence(made);
  await made.agents(["B"], (_tick, look) => looksUntil(look, isStarted), more);
  assert.match(
    made.said.join("\n"),
    /--fence-command was stopped: A is not confirmed to be down\.$/m,
  );
  const ran = Number(readFileSync(pid, "utf8"));
  await until(async () => !isAlive(ran));
  assert.deepEqual(await made.lease("A"), [4, null]);
});

test("an agent whose own host is fenced meanwhile fences no other, before it ends", async (t) => {
  const made = await cloud("sqlite", t, { machines: 2 });
  const { pid, isStarted, more } = endlessFence(made);
  await made.agents(
    ["B"],
    async (_tick, look) => {
      await looksUntil(look, isStarted);
      const ran = Number(readFileSync(pid, "utf8"));
      await made.bm("bm_service_leases").where({ host: "B" }).update({ fenced_by: "C", epoch: 9 });
      await look();
      await until(async () => !isAlive(ran));
      await until(() => made.says(/was stopped/));
    },
    more,
  );
  assert.deepEqual(await made.lease("A"), [4, null]);
});

/** A machine of the cloud whose taker dies over it, in the run of A's death. */
async function dies({ at, folder, bm }: Cloud, id: number): Promise<void> {
  await bm("bm_service_leases").where({ host: "A" }).update({ fenced_by: "B", epoch: 5 });
  const withPlace: Parameters<typeof does>[0]["withPlace"] = (work) => inPlace(at, work);
  const runOf = (name: string) => runAt(join(folder, "run-B", name));
  const death = { moves: [moveOf(id)], dies: { point: "legacy.guarded", at: 1 } };
  await assert.rejects(does({ withPlace, runOf }, "A-5", death), /legacy\.guarded/);
}

test("an agent lets an instance go that it guarded before it died, once its host has its lease again", async (t) => {
  const made = await cloud("sqlite", t, { machines: 1 });
  const { bm, nova } = made;
  await dies(made, 1);
  // A lives again, and its nova-compute has started.
  const lives = { fenced_by: null, heartbeat_ms: Date.now(), ttl_ms: 1e9 };
  await bm("bm_service_leases").where({ host: "A" }).update(lives);
  await nova("instances").update({ task_state: null });
  assert.equal(Boolean((await nova("instances").first()).locked), true);
  const isFree = async () => !(await nova("instances").first()).locked;
  await made.agents(["B"], (tick) => looksUntil(tick, isFree));
  assert.deepEqual([...(await made.owners()).values()], ["A"]);
});

test("an agent says whose move has a machine that is half way to its host", async (t) => {
  const made = await cloud("sqlite", t, { machines: 1 });
  const { bm, said } = made;
  await bm("bm_nodes").update({ service_host: "B", task_state: "migrating" });
  const lock = { nonce: "n", owner: "nova2ironic on X, run 7", expires_ms: Date.now() + 1e9 };
  await bm("bm_locks").insert({ resource: `node:${uuidOf("node", 1)}`, ...lock });
  await made.agents(["B"], (tick) => looksUntil(tick, () => made.says(/was skipped:/)));
  assert.match(said.join("\n"), /its move is unfinished, by nova2ironic on X, run 7\.$/m);
});

test("an agent says of a run whose journal is damaged that it cannot go on with it", async (t) => {
  const made = await cloud("sqlite", t, { machines: 1 });
  const { folder } = made;
  const death = join(folder, "run-B", "X-3");
  await runAt(death);
  writeFileSync(join(death, "journal.jsonl"), '{"do":"start"}\nhalf', { mode: 0o600 });
  await made.agents(["B"], (tick) => looksUntil(tick, () => made.says(/run:X-3 was skipped: /)));
});

test("A-13: when more than half of the hosts run out at once, nothing is taken, and ALARM is said once", async (t) => {
  const made = await cloud("sqlite", t, { hosts: ["A", "B", "C"] });
  await made.dead("B");
  const before = await made.owners();
  await made.agents(["C"], async (tick) => {
    await tick(SILENT + 6);
    assert.deepEqual(await made.owners(), before);
    for (const host of ["A", "B"]) assert.deepEqual(await made.lease(host), [4, null]);
    const alarms = made.said.filter((line) => line.includes("ALARM"));
    assert.equal(alarms.length, 1, made.said.join("\n"));
    const says =
      /^C: ALARM: the leases of A, B expired at the same time, 2 of 3 unfenced hosts\. No further/;
    assert.match(alarms[0] ?? "", says);
    // B was only cut off.
    await made.bm("bm_service_leases").where({ host: "B" }).update({ heartbeat_ms: Date.now() });
    await tick(2);
    await until(async () => (await made.left()) === 0);
  });
  assert.ok(made.said.some((line) => line.startsWith("C: ALARM ended")));
});

test("a host whose clock was an hour ahead is taken over like any other, and only once it is silent", async (t) => {
  const made = await cloud("sqlite", t, { machines: 4 });
  const { bm, nova } = made;
  const ahead = Date.now() + 3_600_000;
  await bm("bm_service_leases").where({ host: "A" }).update({ heartbeat_ms: ahead });
  await bm("bm_nodes").update({ service_heartbeat_ms: ahead });
  await made.agents(["B"], async (tick) => {
    for (let at = 0; at < SILENT + 4; at += 1) {
      await report(nova, ["A"], -3600);
      await tick();
    }
    assert.deepEqual(await made.lease("A"), [4, null]);
    await taken(made, tick);
  });
  assert.deepEqual([...new Set((await made.owners()).values())], ["B"]);
  assert.deepEqual(await made.lease("A"), [5, "B"]);
});

test("A-14: machines that were being deployed end in error, are listed, and get no boot files", async (t) => {
  const made = await cloud("sqlite", t, { machines: 6 });
  const { bm, nova, folder, said } = made;
  const states = { 1: "deploying", 3: "building", 5: "prepared" };
  for (const [id, task_state] of Object.entries(states))
    await bm("bm_nodes").where({ id }).update({ task_state });
  await nova("instances").update({ vm_state: "building" });
  await made.agents(["B"], async (tick) => {
    await tick(SILENT - 1);
    await taken(made, tick);
  });
  for (const id of [1, 3, 5]) {
    const node = await bm("bm_nodes").where({ id }).first();
    assert.deepEqual([node.service_host, node.task_state], ["B", "error"]);
    const uuid = uuidOf("instance", id);
    const tenant = await nova("instances").where({ uuid }).first();
    assert.deepEqual([tenant.host, tenant.vm_state, tenant.task_state], ["B", "error", null]);
    assert.ok(!existsSync(join(folder, "B", uuid)));
    const its = said.filter((line) => line.includes(uuidOf("node", id)));
    assert.match(its.join("\n"), /skipped/, said.join("\n"));
  }
});

test("only hosts of the same aggregates whose agents take share a dead host's machines", async (t) => {
  const made = await cloud("sqlite", t, { machines: 8 });
  const group = { id: 1, name: "rack", deleted: 0 };
  await made.nova("aggregates").insert(group);
  for (const [id, host] of ["A", "C", "D"].entries())
    await made.nova("aggregate_hosts").insert({ id, host, aggregate_id: 1, deleted: 0 });
  // They live: B is in no aggregate, and nobody takes on D.
  await made.dead("B", { heartbeat_ms: Date.now(), ttl_ms: 1e9 });
  await made.dead("D", { heartbeat_ms: Date.now(), ttl_ms: 1e9, takes: false });
  await made.agents(["C"], async (tick) => {
    const all = async (): Promise<void> => {
      await report(made.nova, ["B", "D"]);
      await tick();
    };
    for (let at = 1; at < SILENT; at += 1) await all();
    await taken(made, all);
  });
  assert.deepEqual([...new Set((await made.owners()).values())], ["C"]);
  const ports = made.said.filter((line) => line.startsWith("C: openstack port set --host C "));
  assert.equal(ports.length, 4, made.said.join("\n"));
  // Whoever looks at that death needs to know of nothing but its run.
  const death = ["--run", join(made.folder, "run-C", "A-5")];
  assert.match((await run(["status", ...death])).err, /^Next: nova2ironic verify /m);
  await ends(0, run(["verify", "--queue-purged", ...death]));
});

test("without the site's fence nothing is fenced; with it the host is, and it was told its name", async (t) => {
  const made = await cloud("sqlite", t, { machines: 4 });
  const { folder } = made;
  const program = join(folder, "fence");
  const fence = (status: number): void => {
    const script = `#!/bin/sh\necho "$1" >>${folder}/told\nexit ${status}\n`;
    writeFileSync(program, script, { mode: 0o700 });
  };
  fence(1);
  const more = { fenceCommand: program };
  await made.agents(
    ["B"],
    async (tick) => {
      await tick(SILENT);
      await until(() => made.says(/ended with 1/));
      await tick(4);
      assert.equal(readFileSync(join(folder, "told"), "utf8"), "A\n", "not at each look");
      assert.deepEqual(await made.lease("A"), [4, null]);
      fence(0);
      await taken(made, tick);
    },
    more,
  );
  assert.deepEqual(await made.lease("A"), [5, "B"]);
  assert.equal(readFileSync(join(folder, "told"), "utf8"), "A\nA\n");
});

test("an agent that waits for a lock reports at growing intervals for which, and since when", async () => {
  const said: string[] = [];
  const ending = new AbortController();
  const report = (text: string): void => {
    if (said.push(text) === 3) ending.abort();
  };
  const busy = new MigrationError("N2I-E302", "host:A is locked by B");
  const locked = (): Promise<never> => Promise.reject(busy);
  const clock = quickClock();
  const waits = () => patiently(ending.signal, report, locked);
  const ended = await surrounded({ ...processContext(), clock }, waits);
  assert.equal(ended, null);
  const times = said.map((line) =>
    /^Waiting since 20\S+Z \((\d+) (s|min)\): host:A is locked by B\.$/.exec(line)?.slice(1, 3),
  );
  assert.deepEqual(times.flat(), ["63", "s", "2", "min", "4", "min"], said.join("\n"));
});
