import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { loadNova, loadNovaBm } from "../../src/demo/load-case.ts";
import { withAgent } from "../../src/takeover/host-agent.ts";
import { extendSchema } from "../../src/takeover/leases/schema.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";
import { type TestDatabase, withDatabase } from "../lab/index.ts";
import { opened } from "../takeover/leases/place.ts";
import { type Ends, judge, middle, type Write, withEnds } from "./measure.ts";

const PASSES = 10_000;
/** After so many nothing new is loaded or compiled any more. */
const WARM = 2_500;
/** Passes between two looks at the heap. */
const PACE = 750;
/** Looks at the heap of which the smallest counts: V8 keeps a table of 2 MiB now and then, and lets it go. */
const LOOKS = 4;
/** MiB by which the smallest of the last looks may exceed that of the first. 200 bytes kept by each pass are more. */
const MORE = 0.5;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function heap(): number {
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

const files = (): number => readdirSync("/proc/self/fd").length;

async function place(t: Ends) {
  const made = await Promise.all([withDatabase("sqlite", t), withDatabase("sqlite", t)]);
  const [bm, nova] = made;
  const folder = privateFolder(t);
  await loadNovaBm(bm.db, "sqlite", SMALL);
  await loadNova(nova.db, "sqlite", SMALL);
  await extendSchema(await opened(bm.url, t));
  await bm.db("bm_nodes").update({ service_host: "A" });
  const service = { binary: "nova-compute", topic: "compute", deleted: 0, disabled: false };
  const old = "2020-01-01 00:00:00";
  for (const [id, host] of ["A", "dead", "silent"].entries())
    await nova
      .db("services")
      .insert({ ...service, id: 70 + id, host, report_count: 1, updated_at: old });
  const lease = { epoch: 1, ttl_ms: 60_000, heartbeat_ms: 5 };
  await bm.db("bm_service_leases").insert([
    // One of which nothing is left to take, and one that renews its lease though Nova calls it dead.
    { ...lease, host: "dead", fenced_by: "A" },
    { ...lease, host: "silent", heartbeat_ms: Date.now() + 1e9 },
  ]);
  const file = (name: string, { url }: TestDatabase): string => {
    writeFileSync(join(folder, name), url, { mode: 0o600 });
    return `file:${join(folder, name)}`;
  };
  return { bm, nova, folder, novaBmDb: file("bm.url", bm), novaDb: file("nova.url", nova) };
}

/** Over many intervals an agent that takes grows in nothing, and keeps no connection. */
export async function benchIntervals(write: Write): Promise<void> {
  await withEnds((t) => measured(t, write));
}

async function measured(t: Ends, write: Write): Promise<void> {
  const { bm, nova, folder, novaBmDb, novaDb } = await place(t);
  let now = 0;
  const asked = {
    ...{ host: "A", novaBmDb, novaDb, interval: 10, ttl: 60 },
    ...{ take: true, run: join(folder, "agent") },
  };
  const said: string[] = [];
  let beats = 0;
  await withAgent(
    asked,
    (text) => said.push(text),
    async ({ pass }) => {
      const passes = async (count: number): Promise<void> => {
        for (let at = 0; at < count; at += 1) {
          now += 10_000;
          await nova.db.raw("UPDATE services SET report_count = report_count + 1 WHERE host = 'A'");
          if ((await pass()) === "beat") beats += 1;
        }
      };
      await passes(WARM);
      const before = { files: files(), kinds: process.getActiveResourcesInfo() };
      // The first collection drops compiled code, which is made again.
      collect();
      const heaps: number[] = [];
      for (let done = WARM; done < PASSES; done += PACE) {
        await passes(PACE);
        heaps.push(heap());
      }
      // One collection more than usual is a dip, at either end.
      const more = middle(heaps.slice(-LOOKS)) - middle(heaps.slice(0, LOOKS));
      judge(write, `${PASSES} intervals: MiB more`, more, MORE);
      assert.equal(files(), before.files);
      assert.deepEqual(process.getActiveResourcesInfo().toSorted(), before.kinds.toSorted());
    },
    () => now,
  );
  assert.equal(beats, PASSES - 1, "the first look tells nothing");
  assert.equal(said.length, 1, said.join("\n"));
  const [lease] = await bm.db("bm_service_leases").where({ host: "silent" });
  assert.equal(lease.fenced_by, null);
}
