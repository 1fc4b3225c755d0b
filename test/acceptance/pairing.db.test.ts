import assert from "node:assert/strict";
import { test } from "node:test";
import { refused, runs } from "../hostile/cli.ts";
import { deploy } from "../hostile/deployment.ts";
import { digests } from "../hostile/digest.ts";
import { SMALL } from "../hostile/fleet.ts";

const [JUNO, ICEHOUSE, KILO] = ["487deb87cc9d", "3cb628139ea4", "2fb93ffd2af1"];

/** nova, nova_bm, Ironic's head, and how extract or plan refuses them. @source facts/systems.md D-2, R3, R4 */
const REFUSED = [
  [233, 10, ICEHOUSE, "plan", "N2I-E204", /Icehouse/],
  [233, 10, JUNO, "plan", "N2I-E205", /Icehouse baremetal -> Juno baremetal -> Juno Ironic/],
  [254, 10, ICEHOUSE, "plan", "N2I-E204", /3cb628139ea4 \(Icehouse/],
  [254, 10, KILO, "plan", "N2I-E204", /kilo/],
  [254, 4, JUNO, "plan", "N2I-E205", /nova 254, nova_bm 4, ironic juno/],
  [254, 8, JUNO, "plan", "N2I-E205", /nova 254, nova_bm 8, ironic juno/],
  [280, 10, JUNO, "plan", "N2I-E205", /nova 280, nova_bm 10, ironic juno/],
  [423, 10, JUNO, "extract", "N2I-E203", /nova schema version 423/],
] as const;

// D-2. The whole matrix, with columns of each version: test/hostile/pairing.test.ts.
for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, databases of releases that are no pair are refused by name, and nothing is written`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const { at, source, reader, plan } = made;
    const extract = ["extract", ...at, ...source, "-q"];
    const planning = ["plan", ...at, ...reader, ...plan, "-q"];
    await runs(0, extract);
    await runs(0, planning);
    for (const [nova, novaBm, head, command, code, saying] of REFUSED) {
      await made.nova.db("migrate_version").update({ version: nova });
      await made.bm.db("migrate_version").update({ version: novaBm });
      await made.ironic.db("alembic_version").update({ version_num: head });
      const before = await digests(made);
      if (command === "plan") await runs(0, extract);
      await refused(command === "plan" ? planning : extract, 4, code, [saying]);
      assert.deepEqual(await digests(made), before);
    }
  });
