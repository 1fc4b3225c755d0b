import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { caseUuid } from "../../src/demo/case.ts";
import { openRun } from "../../src/edge/disk/run-folder.ts";
import { closing } from "../../src/stages/databases.ts";
import { openLegacyPlace } from "../../src/stages/legacy-place.ts";
import { type Cloud, cloud, looksUntil, until } from "./agent-cloud.ts";
import type { LegacyCloud } from "./legacy-cloud.ts";
import { moveOf } from "./legacy-cloud.ts";
import { does } from "./legacy-does.ts";

/** Whether a process is there. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A fence of the site that does not end; the file that gets its process's number. */
function endlessFence({ folder }: Cloud) {
  const [program, pid] = [join(folder, "fence"), join(folder, "pid")];
  writeFileSync(program, `#!/bin/sh\necho $$ >${pid}.new\nmv ${pid}.new ${pid}\nexec sleep 9999\n`);
  chmodSync(program, 0o700);
  return { pid, isBegun: async () => existsSync(pid), more: { fenceCommand: program } };
}

test("an agent that ends does not wait for the site's fence, which ends with it", async (t) => {
  const made = await cloud("sqlite", t, { machines: 2 });
  const { pid, isBegun, more } = endlessFence(made);
  await made.agents(["B"], (_tick, look) => looksUntil(look, isBegun), more);
  assert.match(made.said.join("\n"), /--fence-command was stopped: A is not known to be down\.$/m);
  const ran = Number(readFileSync(pid, "utf8"));
  await until(async () => !isThere(ran));
  assert.deepEqual(await made.lease("A"), [4, null]);
});

test("an agent whose own host is fenced meanwhile fences no other, before it ends", async (t) => {
  const made = await cloud("sqlite", t, { machines: 2 });
  const { pid, isBegun, more } = endlessFence(made);
  await made.agents(
    ["B"],
    async (_tick, look) => {
      await looksUntil(look, isBegun);
      const ran = Number(readFileSync(pid, "utf8"));
      await made.bm("bm_service_leases").where({ host: "B" }).update({ fenced_by: "C", epoch: 9 });
      await look();
      await until(async () => !isThere(ran));
      await until(() => made.says(/was stopped/));
    },
    more,
  );
  assert.deepEqual(await made.lease("A"), [4, null]);
});

/** A machine of the cloud whose taker dies over it, in the run of A's death. */
async function dies({ at, folder, bm }: Cloud, id: number): Promise<void> {
  await bm("bm_service_leases").where({ host: "A" }).update({ fenced_by: "B", epoch: 5 });
  const uuid = caseUuid("instance", id);
  const own: Pick<LegacyCloud, "withPlace" | "runOf"> = {
    withPlace: (work) =>
      closing(async (keep) =>
        work(await openLegacyPlace(at, keep, { readOnly: false }, () => undefined)),
      ),
    runOf: (name) => openRun(join(folder, "run-B", name), { create: true }),
  };
  const node = caseUuid("node", id);
  const tenant = { ...moveOf(1).tenant, uuid, node } as NonNullable<
    ReturnType<typeof moveOf>["tenant"]
  >;
  const moves = [{ ...moveOf(1), id, uuid: node, tenant }];
  const death = { moves, dies: { point: "legacy.guarded", at: 1 } };
  await assert.rejects(does(own, "A-5", death), /legacy\.guarded/);
}

test("an agent lets an instance go that it guarded before it died, once its host has its lease again", async (t) => {
  const made = await cloud("sqlite", t, { machines: 1 });
  const { bm, nova } = made;
  await dies(made, 1);
  // A lives again, and its nova-compute has started.
  const lives = { fenced_by: null, heartbeat_ms: Date.now() + 1e9 };
  await bm("bm_service_leases").where({ host: "A" }).update(lives);
  await nova("instances").update({ task_state: null });
  assert.equal(Boolean((await nova("instances").first()).locked), true);
  await made.agents(["B"], (tick) =>
    looksUntil(tick, async () => !(await nova("instances").first()).locked),
  );
  assert.deepEqual([...(await made.owners()).values()], ["A"]);
});

test("an agent says whose move has a machine that is half way to its host", async (t) => {
  const made = await cloud("sqlite", t, { machines: 1 });
  const { bm, said } = made;
  await bm("bm_nodes").update({ service_host: "B", task_state: "migrating" });
  const lock = { nonce: "n", owner: "nova2ironic on X, run 7", expires_ms: Date.now() + 1e9 };
  await bm("bm_locks").insert({ resource: `node:${caseUuid("node", 1)}`, ...lock });
  await made.agents(["B"], (tick) => looksUntil(tick, () => made.says(/was left:/)));
  assert.match(said.join("\n"), /it is half way, by nova2ironic on X, run 7\.$/m);
});

test("an agent says of a run whose journal is damaged that it cannot go on with it", async (t) => {
  const made = await cloud("sqlite", t, { machines: 1 });
  const { folder } = made;
  const death = join(folder, "run-B", "X-3");
  mkdirSync(death, { recursive: true, mode: 0o700 });
  chmodSync(join(folder, "run-B"), 0o700);
  writeFileSync(join(death, "journal.jsonl"), '{"do":"start"}\nhalf', { mode: 0o600 });
  await made.agents(["B"], (tick) => looksUntil(tick, () => made.says(/run:X-3 was left: /)));
});
