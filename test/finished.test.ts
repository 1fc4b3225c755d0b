import assert from "node:assert/strict";
import { refused, runs } from "./hostile/cli.ts";
import { engines, test } from "./lab/engines.ts";
import { fleet, fleetUuid } from "./support/fleet.ts";
import { ALL_FREE, guards, killedFinish } from "./support/kills.ts";
import { scene } from "./support/scene.ts";

/** Of six machines of the fleet those with a tenant. */
const TENANTS: readonly string[] = [fleetUuid(3), fleetUuid(6)];

test("finish ends the window: tenants may use their machines as natively, and the run is done", async (t) => {
  const at = await scene("sqlite", t, fleet(6, "2023.1"));
  const before = await at.digest();
  const on = ["--run", at.run, ...at.ironic];
  await refused(["finish", ...on, "--yes", "-q"], 4, "N2I-E320");
  const applied = await runs(0, ["apply", ...on, "--yes"]);
  assert.match(
    applied.err,
    new RegExp(`^Not cleaned .*: ${TENANTS.join(", ")}\\. finish clears`, "m"),
  );
  const loaded = await at.digest();
  const early = await at.does("status");
  assert.match(
    early.out,
    /not yet: until then, a tenant's server that is deleted or rebuilt ends in ERROR/,
  );
  assert.match(early.err, /^Next: nova2ironic verify .*# if it finds no difference: .* finish /m);
  assert.deepEqual(await guards(at), [
    ...["false null", "false null", "true false"],
    ...["false null", "false null", "true false"],
  ]);

  const shown = await runs(0, ["finish", ...on, "--plan", "-f", "json"]);
  const fields = "protected protected_reason automated_clean";
  const row = (UUID: string, at: number) => ({
    Action: "clear",
    UUID,
    "BM ID": at,
    Fields: fields,
  });
  const expected = TENANTS.map((uuid, at) => ({ ...row(uuid, 3 * (at + 1)), Why: "" }));
  assert.deepEqual(JSON.parse(shown.out), expected);
  assert.equal(await at.digest(), loaded);
  await refused(["finish", ...on, "-q"], 4, "N2I-E303");
  const one = await runs(0, ["finish", ...on, "--yes", "--node", "3"]);
  assert.match(
    one.out,
    /^Finish: 1 machine cleared, 0 with nothing to clear, 1 not taken over by a conductor yet .*, 0 left\.$/m,
  );
  assert.doesNotMatch((await at.does("status")).out, /done, ended/);
  const rest = await runs(0, ["finish", ...on, "--yes"]);
  assert.match(rest.out, /^Finish: 1 machine cleared, 5 with .*, 0 left\.\nThis run is done\.$/m);
  assert.deepEqual(await guards(at), ALL_FREE);
  const seen = await runs(0, ["verify", ...on]);
  assert.match(seen.err, /12 validated, 0 mismatched/);
  assert.doesNotMatch(seen.err, /Not cleaned/);
  const done = await at.does("status");
  assert.match(done.out, /done, ended \d{4}-/);
  assert.match(done.err, /^Next: nothing, this run is done$/m);

  for (const command of [["rollback", "--all"], ["apply"], ["handover", "--undo"]])
    await refused([...command, ...on, "--yes", "-q"], 4, "N2I-E321");
  const preview = ["rollback", ...on, "--all", "--plan"];
  assert.match((await runs(0, preview)).err, /finish ended this run at .* --after-finish/);
  assert.doesNotMatch((await runs(0, [...preview, "--after-finish"])).err, /finish ended/);
  const back = await runs(0, ["finish", ...on, "--yes", "--undo"]);
  assert.match(back.out, /^Finish undone: 2 machines protected again, 0 left\.$/m);
  assert.equal(await at.digest(), loaded);
  await runs(0, ["finish", ...on, "--yes"]);
  const removed = await runs(0, ["rollback", ...on, "--all", "--yes", "--after-finish"]);
  assert.match(removed.out, /12 rows removed, 0 already deleted, 0 left/);
  assert.equal(await at.digest(), before);
  assert.doesNotMatch((await at.does("status")).out, /done, ended/);
});

test("rollback removes a machine whose protection another user cleared, and the next plan finds no drift", async (t) => {
  const at = await scene("sqlite", t, fleet(6, "2023.1"));
  const before = await at.digest();
  const on = ["--run", at.run, ...at.ironic];
  await runs(0, ["apply", ...on, "--yes"]);
  const cleared = { protected: 0, protected_reason: null };
  await at.sql((db) => db("nodes").where({ uuid: TENANTS[0] }).update(cleared));
  await at.sql((db) => db("nodes").where({ uuid: TENANTS[1] }).update({ automated_clean: null }));
  const seen = await runs(0, ["verify", ...on]);
  assert.match(seen.err, /12 validated, 0 mismatched/);
  await runs(0, ["rollback", ...on, "--all", "--yes"]);
  assert.equal(await at.digest(), before);
});

test("an Ironic that protects nothing has nothing to clear, and the run is done", async (t) => {
  const at = await scene("sqlite", t, fleet(2, "rocky"));
  await runs(0, ["apply", "--run", at.run, ...at.ironic, "--yes"]);
  const loaded = await at.digest();
  const { out } = await at.does("finish", ["--yes"]);
  assert.match(out, /^Ironic rocky does not protect machines, so there is nothing to clear\.$/m);
  const says = /^Finish: 0 machines cleared, 2 with nothing to clear, .*0 left\.\nThis run is/m;
  assert.match(out, says);
  assert.equal(await at.digest(), loaded);
});

test("finish does not end a run with a missing machine or batch, and apply resumes it", async (t) => {
  const at = await scene("sqlite", t, fleet(6, "2023.1"));
  const on = ["--run", at.run, ...at.ironic];
  const status = async () => (await at.does("status")).out;
  const killed = await at.start("apply", ["--yes"], "done.before:1:kill").ended;
  assert.equal(killed.status, 128, killed.err);
  const cut = await runs(3, ["finish", ...on, "--yes"]);
  assert.match(cut.out, /^This run is not done: 1 batch of its load did not end\.$/m);
  assert.doesNotMatch(await status(), /done, ended/);
  await runs(0, ["apply", ...on, "--yes"]);
  await at.sql(async (db) => {
    const [node] = await db("nodes").where({ uuid: fleetUuid(1) });
    await db("ports").where({ node_id: node.id }).delete();
    await db("nodes").where({ id: node.id }).delete();
  });
  const gone = await runs(3, ["finish", ...on, "--yes"]);
  assert.match(gone.out, /, 1 not in Ironic, 0 left\.\nThis run is not done: not in Ironic: /m);
  assert.match(gone.out, new RegExp(fleetUuid(1)));
  // Given up, it is not missed any more.
  await runs(0, ["rollback", ...on, "--yes", "--node", fleetUuid(1)]);
  assert.match((await runs(0, ["finish", ...on, "--yes"])).out, /^This run is done\.$/m);
  // To undo finish for one machine does not reopen the run.
  await runs(0, ["finish", ...on, "--yes", "--undo", "--node", String(TENANTS[1])]);
  await refused(["rollback", ...on, "--all", "--yes", "-q"], 4, "N2I-E321");
  await runs(0, ["finish", ...on, "--yes", "--undo"]);
  await runs(0, ["rollback", ...on, "--all", "--yes"]);
  await refused(["finish", ...on, "--yes", "-q"], 4, "N2I-E320");
  await runs(0, ["apply", ...on, "--yes"]);
});

for (const engine of engines())
  test(`on ${engine}, killed at write.after:2, finish goes on, and all of it can be taken back`, (t) =>
    killedFinish(t, engine, "write.after:2"));
