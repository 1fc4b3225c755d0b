import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fenceLease, readLeases, renewLease } from "../../../src/takeover/leases/leases.ts";
import { extendSchema } from "../../../src/takeover/leases/schema.ts";
import { loadNovaBm } from "../../cases/load-case.ts";
import { SMALL } from "../../hostile/fleet.ts";
import { connect } from "../../lab/connect.ts";
import { hasGalera, startGalera } from "../../lab/galera.ts";
import { CONTENDERS, contend, opened, TTL } from "./place.ts";

/** N2I_RUNS=100 is what the design was measured with. */
const ROUNDS = Number(process.env.N2I_RUNS ?? 10);

// Debian's package of Galera would start a server: not every machine has it.
if (hasGalera())
  test(`on three nodes of a Galera cluster, of ${CONTENDERS} contenders one has the lock, in each of ${ROUNDS} rounds, and a heartbeat wins over a fence that comes after it`, async (t) => {
    const cluster = await startGalera(3);
    t.after(cluster.stop);
    const [first, second, third] = cluster.nodes;
    assert.ok(first && second && third);
    await first.newDatabase("nova_bm");
    const db = connect({ ...first, database: "nova_bm" });
    t.after(() => db.destroy());
    await loadNovaBm(db, "mysql", SMALL);
    await extendSchema(await opened(first.url("nova_bm"), t));
    for (const node of [second, third]) await until(() => isExtended(node.url("nova_bm")));
    const urls = cluster.nodes.map((node) => node.url("nova_bm"));
    await contend(t, urls, ROUNDS);
    const here = await opened(first.url("nova_bm"), t, true);
    const there = await opened(second.url("nova_bm"), t, true);
    for (let round = 1; round <= ROUNDS; round += 1) {
      const host = `h${round}`;
      const dead = { host, epoch: 1, heartbeat: 1 };
      await db("bm_service_leases").insert({ host, epoch: 1, heartbeat_ms: 1, ttl_ms: TTL });
      await until(async () => (await readLeases(there, host)).length === 1);
      assert.equal(await renewLease(here, dead), true);
      assert.equal(await fenceLease(there, dead, "B"), false, `A-11, round ${round}`);
    }
    const read = () => here.run("reading leases", () => here.knex.raw("SELECT 1 FROM bm_nodes"));
    await read();
    await db.raw("SET GLOBAL wsrep_provider_options='gmcast.isolate=1'");
    const isLost = () =>
      read()
        .then(() => false)
        .catch(() => true);
    await until(isLost);
    const lost = { code: "N2I-E200", message: /like a Galera node that has lost its cluster/ };
    await assert.rejects(read(), lost);
    await assert.rejects(opened(first.url("nova_bm"), t), lost);
  });

async function isExtended(url: string): Promise<boolean> {
  const { port, password, hostname: host, username: user } = new URL(url);
  const at = { engine: "mysql", host, port: Number(port), socket: "", user, password } as const;
  const db = connect({ ...at, database: "nova_bm" });
  try {
    return await db.schema.hasColumn("bm_nodes", "prev_task_state");
  } finally {
    await db.destroy();
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(50);
}
