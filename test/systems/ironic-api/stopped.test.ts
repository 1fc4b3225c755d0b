import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefusal, run, runs, start } from "../../hostile/cli.ts";
import { conductor, freeMachines, planOverRest, standIn } from "./living.ts";

/** One more than are finished after Ctrl-C. */
const MACHINES = 65;

test("without a living conductor apply refuses to begin; stopped after failures it tells both", async (t) => {
  let alive = false;
  const lists = conductor("manual-management", () => alive);
  const url = await standIn(t, lists);
  const { at, target, planned } = await planOverRest(t, url, freeMachines(MACHINES));
  assert.match(planned.out, /N2I-D756/);
  const dead = await run(["apply", ...at, ...target, "--yes", "-q"]);
  assertRefusal(dead, 4, "N2I-E214", /is alive for manual-management \(65 machines\)/);

  alive = true;
  const NOVA2IRONIC_FAILPOINT = "rest.before:1:pause";
  const started = start(["apply", ...at, ...target, "--yes"], { env: { NOVA2IRONIC_FAILPOINT } });
  await started.said("failpoint rest.before");
  started.signal("SIGINT");
  await started.said("A second signal stops immediately");
  started.signal("SIGUSR2");
  const { status, out, err } = await started.ended;
  assert.equal(status, 130, out + err);
  assert.match(out, /^Failed: 64, by cause/m);
  assert.match(out, /^ +64 {2}POST of the node: 400 not today; Ironic has no record of it$/m);
  const stopped =
    /^Stopped on request, and 64 machines failed before that\.\nNext: nova2ironic apply /m;
  assert.match(err, stopped);

  const undone = await runs(0, ["rollback", ...at, ...target, "--all", "--yes", "-q"]);
  assert.match(undone.out, /^Rollback: 0 rows removed, 0 already deleted, 0 left\.$/m);
});
