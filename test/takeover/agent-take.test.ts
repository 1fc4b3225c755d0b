import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { destination } from "../../src/takeover/rules/successors.ts";
import { ends, run, start } from "../hostile/cli.ts";
import { engines } from "../lab/engines.ts";
import { type Cloud, cloud, looksUntil, MACHINES, SILENT, taken, until } from "./agent-cloud.ts";
import { ago, serviceOf, uuidOf } from "./cloud.ts";
import { report } from "./legacy-cloud.ts";

function took(said: readonly string[]): number {
  const counts = said.map((line) => Number(/Took (\d+) machines?/.exec(line)?.[1] ?? 0));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Two connections of one process to an SQLite block each other: there one agent takes. */
for (const engine of engines("mysql", "postgresql"))
  test(`A-10: on ${engine}, within two looks three agents begin to own every machine of a dead host, each once`, async (t) => {
    const made = await cloud(engine, t);
    const { bm, nova, folder, said } = made;
    await made.agents(["B", "C", "D"], async (tick) => {
      await tick(SILENT - 1);
      assert.deepEqual(await made.lease("A"), [4, null], "Nova heard of it, for all they know");
      await tick(2);
      await until(async () => (await made.left()) === 0);
      await until(async () => took(said) === MACHINES);
      await tick(3);
      assert.equal(took(said), MACHINES, "nothing is left to do");
    });
    for (const [node, owner] of await made.owners())
      assert.equal(owner, destination(node, ["B", "C", "D"]));
    for (const { service_epoch, task_state, instance_uuid } of await bm("bm_nodes")) {
      const state = instance_uuid === null ? null : "active";
      assert.deepEqual([Number(service_epoch), task_state], [1, state]);
    }
    const [epoch, by] = await made.lease("A");
    assert.deepEqual([epoch, /^[BCD]$/.test(String(by))], [5, true]);
    const computes = await nova("compute_nodes").where({ deleted: 0 });
    assert.equal(computes.length, MACHINES, "no machine has two");
    const services = await nova("services");
    const owners = await made.owners();
    for (const row of computes) {
      const { host } = services.find(({ id }) => id === row.service_id) ?? {};
      assert.equal(host, owners.get(row.hypervisor_hostname));
    }
    for (const row of await nova("instances").where({ deleted: 0 })) {
      const owner = owners.get(row.node);
      const now = [row.host, row.task_state, row.launched_on, Boolean(row.locked)];
      assert.deepEqual(now, [owner, null, "A", false]);
      assert.match(readFileSync(join(folder, `${owner}`, row.uuid, "config"), "utf8"), /boot/);
    }
    assert.equal(said.filter((line) => line.includes("A is dead: fenced by")).length, 1);
    for (const host of ["B", "C", "D"])
      assert.ok(existsSync(join(folder, `run-${host}`, "A-5", "journal.jsonl")), host);
  });

for (const engine of engines("mysql"))
  test("what a living agent leaves half way it takes up again, whatever stands beside it in its folder", async (t) => {
    const made = await cloud(engine, t, { machines: 4 });
    const { bm, nova, folder } = made;
    const half = async () => (await bm("bm_nodes").where({ task_state: "migrating" })).length;
    // An administrator unlocks it amid the move.
    await nova.raw(
      `CREATE TRIGGER unlocks BEFORE UPDATE ON instances FOR EACH ROW SET NEW.locked = IF(NEW.task_state = 'migrating' AND NEW.uuid = '${uuidOf("instance", 1)}', 0, NEW.locked)`,
    );
    await made.agents(["B"], async (tick) => {
      await tick(SILENT + 2);
      await until(async () => (await half()) === 1 && (await made.left()) === 2);
      assert.equal(new Set((await made.owners()).values()).size, 1, "A has none");
      for (const name of ["%zz-1", "0-1"]) mkdirSync(join(folder, "run-B", name), { mode: 0o700 });
      writeFileSync(join(folder, "run-B", "0-1", "journal.jsonl"), "nonsense\n", { mode: 0o600 });
      await looksUntil(tick, () => made.says(/run:0-1 was skipped: /));
      assert.equal(await half(), 1);
      await nova.raw("DROP TRIGGER unlocks");
      await taken(made, tick);
      await looksUntil(tick, () => made.says(/Took 1 machine over to finish interrupted/));
    });
    const tenants = await nova("instances").where({ deleted: 0 });
    for (const { host, task_state, locked } of tenants)
      assert.deepEqual([host, task_state, Boolean(locked)], ["B", null, false]);
  });

for (const engine of engines("mysql"))
  test("a machine that is given back to a dead host is taken again", async (t) => {
    const made = await cloud(engine, t, { machines: 2 });
    const { bm, folder, said } = made;
    await made.agents(["B"], async (tick) => {
      await tick(SILENT + 2);
      await until(async () => (await made.left()) === 0);
      await until(async () => took(said) === 2);
      await tick(4);
      const death = ["--run", join(folder, "run-B", "A-5")];
      await ends(0, run(["rollback", ...death, "--all", "--yes"], { bare: true }));
      assert.deepEqual([...new Set((await made.owners()).values())], ["A"]);
      // As their taker wrote it a moment ago, it would be waited for.
      await bm("bm_nodes").update({ service_heartbeat_ms: 1 });
      await taken(made, tick);
      await until(async () => took(said) === 4);
    });
    for (const { service_epoch } of await bm("bm_nodes")) assert.equal(Number(service_epoch), 3);
  });

/** An agent of B, as a process, that is killed while it has claimed its second machine, and no more. */
async function killed({ nova, folder, at }: Cloud): Promise<void> {
  const reporting = setInterval(() => {
    report(nova, ["B"]).catch(() => null); // the next one will do
  }, 100);
  const words = [
    ...["host", "agent", "--host", "B", "--nova-bm-db", at.novaBmDb, "--nova-db", at.novaDb],
    ...["--take", "--run", join(folder, "run-B"), "--interval", "0.3", "--ttl", "20"],
    ...["--service-down-time", "1", "--tftp-root", join(folder, "B"), "--my-ip", "10.0.0.9"],
    ...["--tftp-from", `A=${join(folder, "A")}`],
  ];
  try {
    const env = { NOVA2IRONIC_FAILPOINT: "legacy.claimed:2:kill" };
    const { err } = await start(words, { env }).ended;
    assert.match(err, /A is dead: fenced by B/);
  } finally {
    clearInterval(reporting);
  }
}

for (const engine of engines("mysql"))
  for (const other of ["B", "C"])
    test(`A-15: what an agent died over ${other === "B" ? "it goes on with once it runs again" : "another host takes over"}`, async (t) => {
      const made = await cloud(engine, t, { hosts: ["A", "B", "C"], machines: 6 });
      const { bm, nova } = made;
      await killed(made);
      const [half, ...more] = await bm("bm_nodes").where({ task_state: "migrating" });
      assert.ok(half !== undefined && more.length === 0);
      assert.deepEqual([half.service_host, Number(half.service_epoch)], ["B", 1]);
      // Its locks and its lease run out.
      await bm("bm_locks").update({ expires_ms: 1 });
      if (other === "C") {
        await bm("bm_service_leases").where({ host: "B" }).update({ heartbeat_ms: 1 });
        await bm("bm_nodes").where({ service_host: "B" }).update({ service_heartbeat_ms: 1 });
        await serviceOf(nova, "B").update({ updated_at: ago(600) });
      }
      await made.agents([other], async (tick) => {
        await tick(SILENT);
        // One work at a time: what was begun, one dead host, and the other.
        await taken(made, tick);
        if (other === "C") await looksUntil(tick, async () => (await made.left("B")) === 0);
      });
      const owners = await made.owners();
      assert.deepEqual([...new Set(owners.values())], [other]);
      const whole = await bm("bm_nodes").where({ id: half.id }).first();
      assert.equal(Number(whole.service_epoch), other === "B" ? 1 : 2);
      assert.deepEqual([whole.task_state, whole.prev_task_state], [half.prev_task_state, null]);
      const tenants = await nova("instances").where({ deleted: 0 });
      for (const { host, task_state, locked } of tenants)
        assert.deepEqual([host, task_state, Boolean(locked)], [other, null, false]);
      const computes = await nova("compute_nodes").where({ deleted: 0 });
      assert.equal(computes.length, 6);
    });
