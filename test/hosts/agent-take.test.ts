import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { destination } from "../../src/core/hosts/moves.ts";
import { caseUuid } from "../../src/demo/case.ts";
import { ends, run, start } from "../hostile/cli.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { type Cloud, cloud, looksUntil, MACHINES, SILENT, until } from "./agent-cloud.ts";
import { report } from "./agents.ts";
import { ago } from "./cloud.ts";

/** Machines that agents said they took. */
function took(said: readonly string[]): number {
  const counts = said.map((line) => Number(/Took (\d+) machines/.exec(line)?.[1] ?? 0));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Looks until all machines of a dead host are taken. */
function taken(made: Cloud, look: () => Promise<void>): Promise<void> {
  return looksUntil(look, async () => (await made.left()) === 0);
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
    for (const { service_epoch, task_state, instance_uuid } of await bm("bm_nodes"))
      assert.deepEqual(
        [Number(service_epoch), task_state],
        [1, instance_uuid === null ? null : "active"],
      );
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
      assert.deepEqual(
        [row.host, row.task_state, row.launched_on, Boolean(row.locked)],
        [owner, null, "A", false],
      );
      assert.match(readFileSync(join(folder, `${owner}`, row.uuid, "config"), "utf8"), /boot/);
    }
    assert.equal(said.filter((line) => line.includes("A is dead: fenced by")).length, 1);
    for (const host of ["B", "C", "D"])
      assert.ok(existsSync(join(folder, `run-${host}`, "A-5", "journal.jsonl")), host);
  });

testOnce(
  "A-13: when more than half of the hosts run out at once, nothing is taken, and ALARM is said once",
  async (t) => {
    const made = await cloud("sqlite", t, { hosts: ["A", "B", "C"] });
    await made.dead("B");
    const before = await made.owners();
    await made.agents(["C"], async (tick) => {
      await tick(SILENT + 6);
      assert.deepEqual(await made.owners(), before);
      assert.deepEqual(
        [await made.lease("A"), await made.lease("B")],
        [
          [4, null],
          [4, null],
        ],
      );
      const alarms = made.said.filter((line) => line.includes("ALARM"));
      assert.equal(alarms.length, 1, made.said.join("\n"));
      assert.match(alarms[0] ?? "", /^C: ALARM: the leases of A, B ran out at once, of 3 in all/);
      // B was only cut off.
      await made.bm("bm_service_leases").where({ host: "B" }).update({ heartbeat_ms: Date.now() });
      await tick(2);
      await until(async () => (await made.left()) === 0);
    });
    assert.ok(made.said.some((line) => line.startsWith("C: ALARM is over")));
  },
);

testOnce(
  "A-14: machines that were being deployed end in error, are listed, and get no boot files",
  async (t) => {
    const made = await cloud("sqlite", t, { machines: 6 });
    const { bm, nova, folder, said } = made;
    const states = new Map([
      [1, "deploying"],
      [3, "building"],
      [5, "prepared"],
    ]);
    for (const [id, task_state] of states)
      await bm("bm_nodes").where({ id }).update({ task_state });
    await nova("instances").update({ vm_state: "building" });
    await made.agents(["B"], async (tick) => {
      await tick(SILENT - 1);
      await taken(made, tick);
    });
    for (const id of states.keys()) {
      const node = await bm("bm_nodes").where({ id }).first();
      assert.deepEqual([node.service_host, node.task_state], ["B", "error"]);
      const uuid = caseUuid("instance", id);
      const tenant = await nova("instances").where({ uuid }).first();
      assert.deepEqual([tenant.host, tenant.vm_state, tenant.task_state], ["B", "error", null]);
      assert.ok(!existsSync(join(folder, "B", uuid)));
      assert.ok(
        said.some((line) => line.includes(caseUuid("node", id)) && line.includes("left")),
        said.join("\n"),
      );
    }
  },
);

testOnce(
  "only hosts of the same aggregates whose agents take share a dead host's machines",
  async (t) => {
    const made = await cloud("sqlite", t, { machines: 8 });
    const group = { id: 1, name: "rack", deleted: 0 };
    await made.nova("aggregates").insert(group);
    for (const [id, host] of ["A", "C", "D"].entries())
      await made.nova("aggregate_hosts").insert({ id, host, aggregate_id: 1, deleted: 0 });
    // They live: B is in no aggregate, and nobody takes on D.
    await made.dead("B", { heartbeat_ms: Date.now() + 1e9 });
    await made.dead("D", { heartbeat_ms: Date.now() + 1e9, takes: false });
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
  },
);

testOnce("a host of which Nova heard, or that renewed its lease, keeps its machines", async (t) => {
  const made = await cloud("sqlite", t, { machines: 4 });
  const before = await made.owners();
  await made.agents(["B"], async (tick) => {
    // Its agent alone is gone.
    for (let at = 0; at < SILENT + 4; at += 1) {
      await report(made.nova, ["A"]);
      await tick();
    }
    assert.deepEqual([await made.lease("A"), await made.owners()], [[4, null], before]);
    // Nova alone lost sight of it.
    await made.bm("bm_service_leases").where({ host: "A" }).update({ heartbeat_ms: Date.now() });
    await made.nova("services").where({ host: "A" }).update({ updated_at: "2020-01-01 00:00:00" });
    await tick(SILENT + 4);
    assert.deepEqual([await made.lease("A"), await made.owners()], [[4, null], before]);
  });
});

testOnce(
  "without the site's fence nothing is fenced; with it the host is, and it was told its name",
  async (t) => {
    const made = await cloud("sqlite", t, { machines: 4 });
    const { folder } = made;
    const program = join(folder, "fence");
    const fence = (status: number): void => {
      writeFileSync(program, `#!/bin/sh\necho "$1" >>${folder}/told\nexit ${status}\n`);
      chmodSync(program, 0o700);
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
  },
);

for (const engine of engines("mysql"))
  test("what a living agent leaves half way it takes up again, whatever stands beside it in its folder", async (t) => {
    const made = await cloud(engine, t, { machines: 4 });
    const { bm, nova, folder } = made;
    const half = async () => (await bm("bm_nodes").where({ task_state: "migrating" })).length;
    // An administrator unlocks it amid the move.
    await nova.raw(
      `CREATE TRIGGER unlocks BEFORE UPDATE ON instances FOR EACH ROW SET NEW.locked = IF(NEW.task_state = 'migrating' AND NEW.uuid = '${caseUuid("instance", 1)}', 0, NEW.locked)`,
    );
    await made.agents(["B"], async (tick) => {
      await tick(SILENT + 2);
      await until(async () => (await half()) === 1 && (await made.left()) === 2);
      assert.equal(new Set((await made.owners()).values()).size, 1, "A has none");
      for (const name of ["%zz-1", "0-1"]) mkdirSync(join(folder, "run-B", name), { mode: 0o700 });
      writeFileSync(join(folder, "run-B", "0-1", "journal.jsonl"), "nonsense\n", { mode: 0o600 });
      await looksUntil(tick, () => made.says(/run:0-1 was left: /));
      assert.equal(await half(), 1);
      await nova.raw("DROP TRIGGER unlocks");
      await taken(made, tick);
      await looksUntil(tick, () => made.says(/Took 1 machines over that were half way/));
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
        await nova("services")
          .where({ host: "B" })
          .update({ updated_at: ago(600) });
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
      assert.deepEqual(
        [Number(whole.service_epoch), whole.task_state, whole.prev_task_state],
        [other === "B" ? 1 : 2, half.prev_task_state, null],
      );
      const tenants = await nova("instances").where({ deleted: 0 });
      for (const { host, task_state, locked } of tenants)
        assert.deepEqual([host, task_state, Boolean(locked)], [other, null, false]);
      const computes = await nova("compute_nodes").where({ deleted: 0 });
      assert.equal(computes.length, 6);
    });
