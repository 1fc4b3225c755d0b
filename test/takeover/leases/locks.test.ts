import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { MigrationError } from "../../../src/lib/error.ts";
import {
  acquireLock,
  heldLocks,
  holdLocks,
  keepLocks,
  releaseLock,
  renewLock,
} from "../../../src/takeover/leases/locks.ts";
import { engines, testOnce } from "../../lab/engines.ts";
import { CONTENDERS, contend, leased, TTL } from "./place.ts";

/** Rounds of each engine; N2I_RUNS=100 is what the design was measured with. */
const ROUNDS = Number(process.env.N2I_RUNS ?? 5);

const A = { kind: "host", name: "a" } as const;
const B = { kind: "host", name: "b" } as const;
const NODE = { kind: "node", uuid: "A0000000-0000-4000-8000-000000000001" } as const;
const INSTANCE = { kind: "instance", uuid: "b0000000-0000-4000-8000-000000000001" } as const;

for (const engine of engines()) {
  test(`on ${engine}, of ${CONTENDERS} contenders exactly one has the lock, in each of ${ROUNDS} rounds`, async (t) => {
    const { made } = await leased(engine, t);
    await contend(t, [made.url], ROUNDS);
  });

  test(`on ${engine}, who takes an expired lock has it, and its former holder writes nothing`, async (t) => {
    const { database } = await leased(engine, t);
    const stale = await acquireLock(database, "node:x", { owner: "A", ttl: -1 });
    assert.ok(stale !== null);
    const lock = await acquireLock(database, "node:x", { owner: "B", ttl: TTL });
    assert.equal(lock?.token, stale.token + 1);
    assert.equal(await renewLock(database, stale, TTL), false);
    assert.equal(await releaseLock(database, stale), false);
    assert.deepEqual(
      (await heldLocks(database)).map(({ owner }) => owner),
      ["B"],
    );
    assert.ok(lock !== null && (await renewLock(database, lock, TTL)));
  });

  test(`on ${engine}, an hour's error of our clock changes no verdict on a lock`, async (t) => {
    const { database } = await leased(engine, t);
    const real = Date.now;
    let wrong = 0;
    t.mock.method(Date, "now", () => real() + wrong);
    for (wrong of [3_600_000, -3_600_000]) {
      const resource = `node:${wrong}`;
      const lock = await acquireLock(database, resource, { owner: "A", ttl: TTL });
      assert.ok(lock !== null);
      const [held] = (await heldLocks(database)).filter((one) => one.resource === resource);
      assert.ok(held !== undefined && held.left > 0 && held.left <= TTL, JSON.stringify(held));
      assert.equal(await acquireLock(database, resource, { owner: "B", ttl: TTL }), null);
    }
  });

  test(`on ${engine}, locks are taken in one order, all or none, and named when held`, async (t) => {
    const place = await leased(engine, t);
    const { database } = place;
    const ours = await holdLocks(database, [INSTANCE, B, NODE, A], { owner: "B", ttl: TTL });
    assert.deepEqual(
      ours.locks.map(({ resource }) => resource),
      ["host:a", "host:b", `node:${NODE.uuid.toLowerCase()}`, `instance:${INSTANCE.uuid}`],
    );
    await ours.renew();
    const others = holdLocks(database, [{ kind: "host", name: "0" }, NODE], {
      owner: "C",
      ttl: TTL,
    });
    await assert.rejects(others, (error: MigrationError) => {
      assert.match(error.message, /^the lock node:a0000000-\S+ is B's for \d+ s more$/);
      return error.code === "N2I-E362" && error.exit === 11;
    });
    assert.equal((await heldLocks(database)).length, 4, "host:0 was given back");
    await place.made.db("bm_locks").where({ resource: "host:a" }).update({ nonce: "another" });
    await assert.rejects(ours.renew(), (error: MigrationError) => error.code === "N2I-E362");
    await ours.release();
    const left = (await heldLocks(database)).map(({ resource }) => resource);
    assert.deepEqual(left, ["host:a"], "another's is left");
  });
}

testOnce("locks are renewed by themselves while a step takes long", async (t) => {
  const { made, database } = await leased("sqlite", t);
  t.mock.timers.enable({ apis: ["setInterval"] });
  const kept = await keepLocks(database, [A, NODE], { owner: "B", ttl: TTL });
  const old = () => made.db("bm_locks").where({ expires_ms: 1 });
  for (let time = 0; time < 2; time += 1) {
    await made.db("bm_locks").update({ expires_ms: 1 });
    t.mock.timers.tick(TTL / 2);
    while ((await old()).length > 0) await turn();
    assert.equal(await acquireLock(database, "host:a", { owner: "C", ttl: TTL }), null);
  }
  await kept.release();
  assert.ok(await acquireLock(database, "host:a", { owner: "C", ttl: TTL }));
});
