import assert from "node:assert/strict";
import { test } from "node:test";
import { type Deployment, deploy } from "../../hostile/deployment.ts";
import { hideTables } from "../../hostile/hidden.ts";
import { checkRows } from "./check-output.ts";
import { cloud } from "./cloud.ts";

/** A clock an hour ahead of every server's. */
const AHEAD = {
  NODE_OPTIONS: "--import=data:text/javascript,const%20n=Date.now;Date.now=()=>n()+36e5",
};

/** Options of two databases more, whatever is in them. */
function laterOptions({ source, reader }: Deployment): readonly string[] {
  return ["--nova-api-db", source[3] ?? "", "--placement-db", reader[1] ?? ""];
}

for (const engine of ["mysql", "postgresql"] as const) {
  test(`on ${engine}, the clock of each server that is given is looked at`, async (t) => {
    const made = await deploy(engine, t, cloud({ machines: 1, others: 0 }));
    const right = await checkRows(made, laterOptions(made));
    assert.match(right("Clock skew"), /^Success/);
    assert.match(right("Galera state"), /^Success: No server is in a Galera cluster/);
    const wrong = (await checkRows(made, laterOptions(made), AHEAD))("Clock skew");
    assert.match(wrong, /^Failure: 5 clocks .*\nFix: chronyc makestep/);
    for (const option of ["--nova-bm", "--nova", "--ironic", "--nova-api", "--placement"])
      assert.match(wrong, new RegExp(`[ ]${option}-db by -(35\\d\\d|3600)\\.\\d s`));
  });

  test(`on ${engine}, a table of nova that may not be read is no table without rows`, async (t) => {
    const made = await deploy(engine, t, cloud({ machines: 2, others: 0, version: 302 }));
    const { nova, users } = made;
    const hidden = ["migrations", "block_device_mapping"];
    await hideTables(nova, users.nova, "SELECT", hidden);
    const rows = await checkRows(made, ["--allow-pairing"]);
    if (engine === "mysql") {
      // MySQL lists only tables its user may do something with.
      for (const [at, title] of ["Evacuation records", "Attached volumes"].entries())
        assert.match(rows(title), new RegExp(`^Warning: .*GRANT SELECT on ${hidden[at]}`, "s"));
      return;
    }
    assert.match(rows("Privileges"), /^Failure: N2I-E206 reading block_device_mapping/);
    assert.match(
      rows("Pairing of releases"),
      /^Warning: Not looked at: --nova-db was not read\.\n/,
    );
    assert.match(rows("Deployments in flight"), /^Warning: Not looked at: --nova-db/);
    const grants = rows("Privileges").match(/GRANT [^;\n]+/g) ?? [];
    assert.equal(grants.length, 2);
    for (const grant of grants) await nova.db.raw(grant);
    const held = await checkRows(made, ["--allow-pairing"]);
    for (const title of ["Evacuation records", "Attached volumes", "Deployments in flight"])
      assert.match(held(title), /^Success/);
  });
}
