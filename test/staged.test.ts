import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { STAGED } from "../src/model/handover.ts";
import { refused, runs } from "./hostile/cli.ts";
import { engines, test } from "./lab/engines.ts";
import { fleet, fleetUuid } from "./support/fleet.ts";
import { conductor, killedRelease } from "./support/kills.ts";
import { type Scene, scene } from "./support/scene.ts";

const change = ({ sql }: Scene, id: number, row: object) =>
  sql((db) =>
    db("nodes")
      .where({ uuid: fleetUuid(id) })
      .update(row),
  );

test("a staged load holds every machine, and one whose maintenance somebody took over has drifted", async (t) => {
  const at = await scene("sqlite", t, fleet(4, "kilo"));
  const before = await at.digest();
  const { err } = await at.does("apply", ["--yes", "--staged"]);
  assert.match(err, /8 validated, 0 mismatched.*; 4 machines staged\./);
  const rows = await at.sql((db) => db("nodes").where({ maintenance_reason: STAGED }));
  const maintained = rows.map(({ maintenance }) => Number(maintenance));
  assert.deepEqual(maintained, [1, 1, 1, 1]);
  const [first, second] = [fleetUuid(1), fleetUuid(2)];
  // What was begun staged goes on so, whoever forgets to say it.
  await runs(0, ["rollback", "--run", at.run, ...at.ironic, "--node", first, "--yes"]);
  const rest = await at.does("apply", ["--yes"]);
  assert.match(rest.err, /^This load began with --staged and continues staged\.$/m);
  assert.match(rest.err, /8 validated, 0 mismatched.*; 4 machines staged\./);
  await change(at, 1, { maintenance_reason: "fans broken" });
  await change(at, 2, { maintenance: false });
  const seen = await at.does("verify", ["-f", "value", "-c", "UUID", "-c", "Fields"]);
  assert.deepEqual(seen.out.trim().split("\n"), [
    `${first} maintenance maintenance_reason`,
    `${second} maintenance_reason`,
  ]);
  await at.sql((db) =>
    db("nodes")
      .whereIn("uuid", [first, second])
      .update({ maintenance_reason: null, maintenance: 0 }),
  );
  const released = await at.does("verify");
  assert.match(released.err, /8 validated.*; 2 machines staged\./);
  await runs(0, ["rollback", "--run", at.run, ...at.ironic, "--all", "--yes"]);
  assert.equal(await at.digest(), before);
});

test("a staged load whose own verify was stopped is compared before it is handed over", async (t) => {
  const at = await scene("sqlite", t, fleet(2, "kilo"));
  await at.does("apply", ["--yes", "--staged"]);
  const next = async () => /Next: nova2ironic (\w+)/.exec((await at.does("status")).err)?.[1];
  assert.equal(await next(), "handover");
  // What a death in it leaves: everything is in the journal, and no word of a comparison.
  rmSync(join(at.run, "verified.json"));
  assert.equal(await next(), "verify");
  const driven = (driver: string) => change(at, 1, { driver });
  const [node] = await at.sql((db) => db("nodes").where({ uuid: fleetUuid(1) }));
  await driven("another");
  const found = await at.does("verify");
  assert.match(found.out, /driver/);
  assert.equal(await next(), "verify");
  await driven(String(node?.driver));
  await at.does("verify");
  assert.equal(await next(), "handover");
});

test("an Ironic that keeps no reason of a maintenance is loaded at once or not at all", async (t) => {
  const at = await scene("sqlite", t, fleet(2, "juno"));
  const before = await at.digest();
  const words = ["--run", at.run, ...at.ironic, "--yes", "-q"];
  for (const command of [["apply", "--staged"], ["handover"]])
    await refused([...command, ...words], 4, "N2I-E308");
  assert.equal(await at.digest(), before);
  await runs(0, ["apply", "--run", at.run, ...at.ironic, "--yes"]);
  const takeover = ["verify", "--run", at.run, ...at.ironic, "--takeover"];
  const alone = await runs(2, takeover);
  assert.match(alone.out, /waiting +\| there is no conductor/);
  await conductor(at);
  const seen = await runs(0, [...takeover, "--all-rows"]);
  assert.match(seen.err, /^Takeover: 2 handed over, 0 waiting/m);
});

test("a release hands over what it is told, says what no conductor takes, and is taken back", async (t) => {
  const at = await scene("sqlite", t, fleet(4, "kilo"));
  const release = (status: number, ...options: readonly string[]) =>
    runs(status, ["handover", "--run", at.run, ...at.ironic, ...options]);
  await conductor(at);
  await runs(0, ["apply", "--run", at.run, ...at.ironic, "--yes", "--staged"]);
  const digest = await at.digest();
  await refused(["handover", "--run", at.run, ...at.ironic, "-q"], 4, "N2I-E303");
  const free = await release(0, "--yes", "--node", "1");
  assert.match(free.out, /^Handover: 1 machine released now, 1 handed over, 0 waiting/);
  // Nobody is there to take over the machine with a tenant.
  const tenant = await release(3, "--yes", "--node", fleetUuid(3), "--deadline", "1");
  assert.match(tenant.out, new RegExp(`${fleetUuid(3)} .*no conductor took it over in 1 s`));
  const seen = await runs(2, ["verify", "--run", at.run, ...at.ironic, "--takeover"]);
  assert.match(seen.err, /^Takeover: 1 handed over, 1 waiting, 2 staged, 0 held/m);
  const log = join(at.folder, "conductor.log");
  writeFileSync(log, "2026-11-23 01:00:00.000 1 ERROR ironic.conductor.manager [-] it is down\n");
  const some = ["--takeover", "--conductor-log", log, "--match", "State=waiting"];
  const two = await runs(2, ["verify", "--run", at.run, ...at.ironic, ...some]);
  assert.match(two.out, /^\| \S+ +\| +\d \| waiting /m);
  assert.match(two.out, /it is down/);
  assert.doesNotMatch(two.out, /\| staged /);
  const pattern =
    /columns Log, Says has no such column, so it is printed without --match State=waiting\.$/m;
  assert.match(two.err, pattern);
  assert.match(two.err, /^Takeover: 1 handed over/m);
  const on = ["--run", at.run, ...at.ironic, "--yes", "-q"];
  await refused(["finish", ...on, "--match", "Findings=protected"], 64, "N2I-E100");
  const half = await at.does("status");
  assert.match(half.out, /2 of 4 staged machines released/);
  assert.match(half.err, /^Next: nova2ironic handover --run /m);
  const staged = await at.sql((db) => db("nodes").where({ maintenance_reason: STAGED }));
  const uuids = staged.map(({ uuid }) => uuid);
  assert.deepEqual(uuids, [fleetUuid(2), fleetUuid(4)]);
  // What a conductor read meanwhile; Nova would go by it, however old it is.
  await change(at, 1, { power_state: "power on" });
  const back = await release(0, "--yes", "--undo");
  assert.match(back.out, /^Handover undone: 2 machines staged again, 0 left\./);
  assert.equal(await at.digest(), digest);
  assert.match((await at.does("status")).out, /0 of 4 staged machines released/);
  await refused(["handover", ...on, "--node", "9"], 64, "N2I-E306");
});

test("a machine is released without the power state that was recorded before it was staged", async (t) => {
  const at = await scene("sqlite", t, fleet(2, "kilo"));
  const release = (...options: readonly string[]) =>
    runs(0, ["handover", "--run", at.run, ...at.ironic, "--yes", "--node", "1", ...options]);
  await conductor(at);
  await runs(0, ["apply", "--run", at.run, ...at.ironic, "--yes", "--staged"]);
  await release();
  // What a conductor records; the machine is switched on by hand while it is staged again.
  await change(at, 1, { power_state: "power off" });
  await release("--undo");
  await release();
  const [row] = await at.sql((db) => db("nodes").where({ uuid: fleetUuid(1) }));
  assert.equal(row?.power_state, null);
});

for (const engine of engines("mysql"))
  for (const [options, point, told] of [
    [[], "clear.committed", "Handover: 2 machines released now, 0 handed over, 2 waiting"],
    [["--undo"], "restage.committed", "Handover undone: 2 machines staged again, 0 left"],
  ] as const)
    test(`a database that is gone after ${point} ends it as halfway, told how far it came, and the same command goes on`, async (t) => {
      const at = await scene(engine, t, fleet(4, "kilo"), { proxy: true });
      await conductor(at);
      await runs(0, ["apply", "--run", at.run, ...at.ironic, "--yes", "--staged"]);
      // Of a machine with a tenant nobody takes over, so that all are released at once.
      const release = ["--yes", "--deadline", "1", "--max-failures", "9"];
      if (options.length > 0) await at.does("handover", release);
      const started = at.start("handover", [...release, ...options], `${point}:2:pause`);
      await started.said(`failpoint ${point}`);
      at.line?.cut({ forGood: true });
      started.signal("SIGUSR2");
      const { status, out, err } = await started.ended;
      assert.equal(status, 5, out + err);
      assert.ok(out.includes(told), out);
      assert.match(err, /^ERROR N2I-E301 handover( --undo)? stopped after \d machines: N2I-E200 /m);
      at.line?.fix();
      const again = await at.does("handover", [...release, ...options]);
      assert.match(again.out, /: 2 machines (released now|staged again)/);
    });

for (const engine of engines())
  for (const point of ["clear.committed:2", "restage.committed:2"])
    test(`on ${engine}, killed at ${point}, a release goes on, and all of it can be taken back`, (t) =>
      killedRelease(t, engine, point));
