import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ends, run, runs } from "../../hostile/cli.ts";
import { deployFiles } from "../../hostile/deployment.ts";
import { SITE, tenant } from "../../hostile/fleet.ts";
import { cloud } from "./cloud.ts";
import { trainCloud } from "./later.ts";

const JUNO = { ...cloud({ machines: 1, others: 2, node: (id) => tenant(id) }), site: SITE };

for (const { release, given, words, planned, other, none } of [
  {
    ...{ release: "juno", given: JUNO, words: [], planned: "compute-1", other: "ironic-compute" },
    none: 0,
  },
  {
    ...{ release: "train", given: trainCloud(), words: ["--compute-host", "ironic-compute"] },
    ...{ planned: "ironic-compute", other: "some-other", none: 2 },
  },
])
  test(`on ${release}, config holds [DEFAULT] host against the host that instances will name: ${planned}`, async (t) => {
    const { at, source, reader, plan, folder } = await deployFiles(t, given);
    await runs(0, ["extract", ...at, ...source, "-q"]);
    const how = ["--ironic-release", release];
    const beside = words.length > 0 ? source.slice(2, 4) : [];
    await runs(0, ["plan", ...at, ...reader, ...beside, ...plan, ...how, ...words, "-q"]);
    const { out } = await runs(0, ["config", ...how]);
    const look = async (host: string) => {
      const file = join(folder, "compute.conf");
      writeFileSync(file, `[DEFAULT]\n${host}\n${out.replaceAll("CHANGE_ME", "x")}`);
      return run(["config", ...at, "--nova-conf", `${planned}=${file}`, "--check"]);
    };
    const right = await ends(0, look(`host = ${planned}`));
    assert.match(right.err, /^All settings are as needed\.$/m);
    const wrong = await ends(2, look(`host = ${other}`));
    assert.match(
      wrong.err,
      new RegExp(
        `^Wrong: \\[DEFAULT\\] host must be ${planned}, .*: ${planned} has ${other}\\.$`,
        "m",
      ),
    );
    assert.doesNotMatch(wrong.err, /as needed/);
    // A new host's own name is another one; that of a kept host is known.
    assert.equal((await look("")).status, none);
  });
