import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { loadNovaBm } from "../../../src/demo/load-case.ts";
import type { Database } from "../../../src/edge/database/open.ts";
import { fenceLease, readLeases, renewLease } from "../../../src/edge/leases/leases.ts";
import { acquireLock, releaseLock, renewLock } from "../../../src/edge/leases/locks.ts";
import { extendSchema } from "../../../src/edge/leases/schema.ts";
import { SMALL } from "../../hostile/fleet.ts";
import { connect } from "../../lab/connect.ts";
import { hasGalera, startGalera } from "../../lab/galera.ts";
import { opened } from "./place.ts";

const TTL = 60_000;
const CONTENDERS = 24;
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
    const contenders: Database[] = [];
    for (let at = 0; at < CONTENDERS; at += 1) {
      const node = cluster.nodes[at % cluster.nodes.length];
      assert.ok(node);
      contenders.push(await opened(node.url("nova_bm"), t, true));
    }
    const [here, there] = contenders;
    assert.ok(here && there);
    for (let round = 1; round <= ROUNDS; round += 1) {
      const got = await Promise.all(
        contenders.map((database, at) =>
          acquireLock(database, "node:x", { owner: `c${at}`, ttl: TTL }),
        ),
      );
      const won = got.flatMap((lock, at) => (lock === null ? [] : [{ lock, at }]));
      assert.equal(won.length, 1, `round ${round}`);
      const [{ lock, at } = { lock: null, at: 0 }] = won;
      assert.ok(lock !== null);
      assert.equal(lock.token, round, "one owner more, once a round");
      assert.equal(await renewLock(contenders[at] ?? here, lock, TTL), true);
      assert.equal(await releaseLock(contenders[at] ?? here, lock), true);
    }
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
    await until(() =>
      read().then(
        () => false,
        () => true,
      ),
    );
    const lost = { code: "N2I-E200", message: /as a Galera node is that has lost its cluster/ };
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
