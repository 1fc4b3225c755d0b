import assert from "node:assert/strict";
import { test } from "node:test";
import {
  beginLease,
  fenceLease,
  publishBoot,
  readLeases,
  renewLease,
} from "../../../src/takeover/leases/leases.ts";
import { claimNode, nodesById } from "../../../src/takeover/leases/nodes.ts";
import { engines } from "../../lab/engines.ts";
import { leased } from "./place.ts";

/** Milliseconds, more than any test takes. */
const DAY = 86_400_000;
const A = { host: "A", ttl: DAY, my_ip: "10.0.0.1", tftp_root: "/tftpboot" };

async function silentFor(
  { db }: NonNullable<Awaited<ReturnType<typeof leased>>>["made"],
  milliseconds: number,
): Promise<void> {
  await db("bm_service_leases").decrement("heartbeat_ms", milliseconds);
}

for (const engine of engines()) {
  test(`on ${engine}, a heartbeat renews the host and its machines alone`, async (t) => {
    const { made, database } = await leased(engine, t);
    await made.db("bm_nodes").where({ id: 1 }).update({ service_host: "A" });
    await made.db("bm_nodes").where({ id: 2 }).update({ service_host: "B" });
    const before = await made.db("bm_nodes").orderBy("id");
    const lease = await beginLease(database, A);
    assert.equal(lease?.epoch, 1);
    await silentFor(made, DAY);
    assert.ok(lease !== null && (await renewLease(database, lease)));
    const [held] = await readLeases(database, "A");
    assert.ok(held !== undefined && held.age >= 0 && held.age < DAY, JSON.stringify(held));
    const [one, two] = await made.db("bm_nodes").orderBy("id");
    assert.ok(Math.abs(Number(one.service_heartbeat_ms) - Date.now()) < DAY);
    const at = one.service_heartbeat_at;
    // The driver of PostgreSQL makes a local time of one without a zone.
    const seen =
      at instanceof Date ? at.getTime() - at.getTimezoneOffset() * 60_000 : Date.parse(`${at}Z`);
    assert.ok(Math.abs(seen - Number(one.service_heartbeat_ms)) < 2_000, String(at));
    assert.deepEqual(two, before[1]);
    const own = { service_heartbeat_at: null, service_heartbeat_ms: null };
    assert.deepEqual({ ...one, ...own }, before[0], "no other column, updated_at neither");
  });

  test(`A-11: on ${engine}, a host that reported is not fenced, a silent one once, and then never renews`, async (t) => {
    const { made, database } = await leased(engine, t);
    await made.db("bm_nodes").update({ service_host: "A" });
    assert.notEqual(await beginLease(database, A), null);
    const [lease] = await readLeases(database);
    assert.ok(lease !== undefined);
    await silentFor(made, A.ttl / 2);
    assert.equal(await fenceLease(database, lease, "B"), false, "half of its time is left");
    await silentFor(made, A.ttl);
    await renewLease(database, lease);
    assert.equal(await fenceLease(database, lease, "B"), false, "it reported just before");
    await silentFor(made, A.ttl + 1);
    assert.equal(await fenceLease(database, lease, "B"), true);
    assert.equal(await fenceLease(database, { ...lease, epoch: 2 }, "C"), false, "fenced already");
    await made.db("bm_nodes").update({ service_heartbeat_ms: 1 });
    assert.equal(await renewLease(database, lease), false);
    assert.equal(await renewLease(database, { ...lease, epoch: 2 }), false, "whatever it knows");
    assert.equal(await beginLease(database, A), null, "nor an agent that begins anew");
    const beats = await made.db("bm_nodes").pluck("service_heartbeat_ms");
    assert.deepEqual(beats.map(Number), [1, 1], "its machines' neither");
    const [held] = await readLeases(database);
    assert.deepEqual([held?.fenced_by, held?.epoch], ["B", 2]);
  });

  test(`A-9: on ${engine}, an hour's error of our clock fences nobody who lives`, async (t) => {
    const { made, database } = await leased(engine, t);
    const real = Date.now;
    t.after(() => {
      Date.now = real;
    });
    const verdicts: boolean[] = [];
    for (const wrong of [3_600_000, -3_600_000]) {
      Date.now = () => real() + wrong;
      await beginLease(database, { ...A, host: `host${wrong}` });
      const [lease] = await readLeases(database, `host${wrong}`);
      assert.ok(lease !== undefined);
      verdicts.push(await fenceLease(database, lease, "B"));
      await silentFor(made, A.ttl + 1);
      verdicts.push(await fenceLease(database, lease, "B"));
    }
    assert.deepEqual(verdicts, [false, true, false, true]);
  });

  test(`on ${engine}, a heartbeat far ahead of the clock hides no death, unless another came since`, async (t) => {
    const { made, database } = await leased(engine, t);
    await made.db("bm_nodes").update({ service_host: "A" });
    const ahead = async (milliseconds: number) => {
      await made.db("bm_service_leases").del();
      await beginLease(database, A);
      await silentFor(made, -milliseconds);
      const [lease] = await readLeases(database);
      assert.ok(lease !== undefined);
      return lease;
    };
    assert.equal(await fenceLease(database, await ahead(A.ttl / 2), "B"), false, "clocks differ");
    const seen = await ahead(2 * A.ttl);
    await silentFor(made, -10_000);
    assert.equal(await fenceLease(database, seen, "B"), false, "its heartbeat came");
    const [now] = await readLeases(database);
    assert.ok(now !== undefined && (await fenceLease(database, now, "B")));
    // Its machines carry the same heartbeat.
    const [node] = await nodesById(database, [1]).then((nodes) => [...nodes.values()]);
    assert.ok(node !== undefined);
    const claim = { to: "B", prev: null, silent: A.ttl };
    const beat = (at: number) => made.db("bm_nodes").update({ service_heartbeat_ms: at });
    await beat(Date.now() + A.ttl / 2);
    assert.equal(await claimNode(database, node, claim), null);
    await beat(Date.now() + 2 * A.ttl);
    assert.equal(await claimNode(database, node, claim), node.service_epoch + 1);
  });

  test(`on ${engine}, what boots a machine is published once, and replaced`, async (t) => {
    const { made, database } = await leased(engine, t);
    const record = { instance_uuid: "B1", root_uuid: "r1", kernel_id: "k", ramdisk_id: null };
    await publishBoot(database, "A", [record, { ...record, instance_uuid: "b2" }]);
    await publishBoot(database, "C", [{ ...record, root_uuid: "r2" }]);
    await publishBoot(database, "C", []);
    // SQLite inserts at most 500 rows in one statement of knex.
    const many = Array.from({ length: 501 }, (_, at) => ({ ...record, instance_uuid: `c${at}` }));
    await publishBoot(database, "D", many);
    assert.equal(await made.db("bm_boot_records").where({ host: "D" }).delete(), many.length);
    const rows = await made.db("bm_boot_records").orderBy("instance_uuid");
    assert.deepEqual(
      rows.map(({ seen_ms: _, ...row }) => row),
      [
        { instance_uuid: "b1", host: "C", root_uuid: "r2", kernel_id: "k", ramdisk_id: null },
        { instance_uuid: "b2", host: "A", root_uuid: "r1", kernel_id: "k", ramdisk_id: null },
      ],
    );
  });
}
