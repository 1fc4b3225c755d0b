import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ends, pausedAt, run } from "../hostile/cli.ts";
import { engines } from "../lab/engines.ts";
import { type HostCloud, hostCloud, QUICK, uuidOf } from "./cloud.ts";

const NODE = uuidOf("node", 1);

/** Two runs that would move one machine, each to another host; what moves it. */
async function planned({ host, folder, nova }: HostCloud) {
  const runs = ["H2", "H3"].map((to) => ({ to, at: ["--run", join(folder, "runs", `to-${to}`)] }));
  for (const { to, at } of runs) {
    await ends(0, host("host", "plan", "--node", NODE, "--to", to, ...QUICK, ...at));
  }
  return runs.map(({ at }) => ["host", "move", ...at, ...nova, "--yes"]);
}

for (const engine of engines())
  test(`on ${engine}, of two processes on one machine the one that is there first moves it, and the other ends with 11`, async (t) => {
    const cloud = await hostCloud(t, { engine });
    const [one = [], other = []] = await planned(cloud);
    const first = await pausedAt("nova.commit.before:1", one);
    assert.equal((await cloud.owners())[0], "1 H1 NULL H1", "both rows, or none");
    const second = await ends(11, run(other));
    assert.match(second.err, /N2I-E302/);
    first.signal("SIGUSR2");
    await ends(0, first.ended);
    assert.equal((await cloud.owners())[0], "1 H2 NULL H2");
    const stale = await ends(4, run(other));
    assert.match(stale.err, /N2I-E300 nothing was moved: .*was changed since in host/);
    assert.equal((await cloud.owners())[0], "1 H2 NULL H2");
  });
