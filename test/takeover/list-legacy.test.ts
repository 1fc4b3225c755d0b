import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { caseUuid } from "../../src/demo/case.ts";
import { acquireLock } from "../../src/takeover/leases/locks.ts";
import { extendSchema } from "../../src/takeover/leases/schema.ts";
import { runs } from "../hostile/cli.ts";
import { deploy } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";
import { engines } from "../lab/engines.ts";
import { AHEAD, ago } from "./cloud.ts";
import { opened } from "./leases/place.ts";

for (const engine of engines("sqlite", "mysql"))
  test(`A-18: on ${engine}, a list names each machine's owner, epoch, age, lock and its end, and state`, async (t) => {
    const { bm, nova, folder } = await deploy(engine, t, SMALL);
    const file = (name: string, url: string): string => {
      writeFileSync(join(folder, name), url, { mode: 0o600 });
      return `file:${join(folder, name)}`;
    };
    const at = ["--nova-db", file("n.url", nova.url), "--nova-bm-db", file("b.url", bm.url)];
    const service = { binary: "nova-compute", topic: "compute", deleted: 0, disabled: false };
    await nova.db("services").insert([
      { ...service, id: 71, host: "A", report_count: 1, updated_at: ago(600) },
      { ...service, id: 72, host: "B", report_count: 1, updated_at: ago(-AHEAD) },
    ]);
    await bm.db("bm_nodes").where({ id: 1 }).update({ service_host: "A" });
    await bm.db("bm_nodes").where({ id: 2 }).update({ service_host: "B" });
    const listed = async () =>
      JSON.parse((await runs(0, ["host", "list", ...at, "-f", "json"])).out) as {
        readonly [column: string]: string | number | null;
      }[];
    const bare = await listed();
    const about = (row: (typeof bare)[number] = {}) =>
      [row.Owner, row.Up, row.Epoch, row.Lock, row.State, row.Instance].join(" ").trim();
    assert.deepEqual(bare.map(about), [
      `A down   active ${caseUuid("instance", 1)}`,
      "B up   idle",
    ]);
    assert.ok(Number(bare[0]?.Age) >= 600, "Nova's word, where there is no other");

    await extendSchema(await opened(bm.url, t));
    const keeper = await opened(bm.url, t, true);
    const lease = { epoch: 2, ttl_ms: 60_000, heartbeat_ms: Date.now() - 90_000 };
    await bm.db("bm_service_leases").insert({ ...lease, host: "A", fenced_by: "B" });
    await bm.db("bm_nodes").update({ service_epoch: 3, service_heartbeat_ms: Date.now() - 90_000 });
    const locked = `node:${caseUuid("node", 2)}`;
    assert.ok(await acquireLock(keeper, locked, { owner: "C", ttl: 3_600_000 }));
    const rows = await listed();
    assert.equal(about(rows[0]), `A down 3 fenced by B active ${caseUuid("instance", 1)}`);
    assert.match(about(rows[1]), /^B up 3 C, \d+ s idle$/);
    await bm.db("bm_locks").update({ expires_ms: Date.now() - 5000 });
    assert.match(about((await listed())[1]), /^B up 3 C, ran out \d+ s ago idle$/);
    for (const { Age } of rows) assert.ok(Number(Age) >= 89 && Number(Age) < 3600, String(Age));
    assert.deepEqual(
      rows.map(({ Machine }) => Machine),
      [caseUuid("node", 1), caseUuid("node", 2)],
    );
  });
