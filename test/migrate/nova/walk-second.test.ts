import assert from "node:assert/strict";
import { test } from "node:test";
import { caseUuid } from "../../../src/demo/case.ts";
import { ends, runs } from "../../hostile/cli.ts";
import { computeStarts, conductorsStart, isRefused, planned, walk } from "./walking.ts";

test("machines that a night left behind are carried by a second one", async (t) => {
  const made = await planned(t);
  await made.bm.db("bm_interfaces").where({ bm_node_id: 2 }).update({ address: "nonsense" });
  await runs(0, ["extract", ...made.at, "-q"]);
  const loaded = await walk(made, "--skip-blocked");
  assert.match(loaded.err, /start every ironic-conductor/);
  await conductorsStart(made);
  await computeStarts(made);
  const first = await ends(0, walk(made, "--skip-blocked"));
  const left = /1 machine is left behind: nova2ironic show \S+ --match Verdict=blocked/;
  const again =
    /^Once the causes are fixed: nova2ironic extract --run \S+\nthen: .* power --run \S+\nthen: .* run --run \S+$/m;
  assert.match(first.err, left);
  assert.match(first.err, again);
  const { err } = await runs(0, ["status", ...made.at]);
  assert.match(err, /^Next: nothing; this run is done\n1 machine is left/m);
  assert.match(err, again);
  assert.equal((await made.ironic.db("nodes")).length, 3);
  const told = JSON.parse((await runs(0, ["next", ...made.at, "-f", "json"])).out) as {
    why: string;
  };
  assert.match(told.why, new RegExp(`^this run is done\\n${left.source}\\nOnce the causes`));
  await made.ironic.db("conductors").update({ online: false, updated_at: "2014-01-01 00:00:00" });
  await made.bm
    .db("bm_interfaces")
    .where({ bm_node_id: 2 })
    .update({ address: "02:00:00:00:00:77" });
  await runs(0, ["extract", ...made.at, "-q"]);
  const loading = await walk(made);
  assert.match(loading.err, /start every ironic-conductor; 0 machines are taken over, 4 wait/);
  assert.equal((await made.ironic.db("nodes")).length, 4);
  await made.ironic.db("conductors").update({ online: true, updated_at: "2099-01-01 00:00:00" });
  await made.ironic.db("nodes").update({ conductor_affinity: 1, power_state: "power on" });
  const second = await ends(0, walk(made));
  assert.match(second.err, /^The window is closed\.\nThe run is done\.$/m);
  assert.doesNotMatch(second.err, /left behind/);
});

test("a machine deleted since finish is not loaded again by --yes, and is named", async (t) => {
  const made = await planned(t);
  await walk(made);
  await conductorsStart(made);
  await computeStarts(made);
  await ends(0, walk(made));
  const deleted = caseUuid("node", 2);
  const [node] = await made.ironic.db("nodes").where({ uuid: deleted });
  await made.ironic.db("ports").where({ node_id: node.id }).del();
  await made.ironic.db("nodes").where({ id: node.id }).del();
  await made.ironic.db("conductors").update({ online: false, updated_at: "2014-01-01 00:00:00" });
  await runs(0, ["extract", ...made.at, "-q"]);
  // Nobody stops a nova-compute for it, or waits until one stands still.
  await made.nova.db("services").update({ updated_at: "2099-01-01 00:00:00" });
  const ran = await walk(made);
  assert.doesNotMatch(ran.err, /Waiting|: check/);
  isRefused(ran, new RegExp(`loaded them.*${deleted}`));
  assert.match(ran.err, /If they are to come back: nova2ironic apply --run \S+ --after-finish$/m);
  assert.equal((await made.ironic.db("nodes")).length, 3);
});
