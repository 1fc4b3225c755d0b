import assert from "node:assert/strict";
import { test } from "node:test";
import type { Case } from "../cases/case.ts";
import { refused, runs } from "./cli.ts";
import { type Deployment, deployFiles } from "./deployment.ts";
import { digests } from "./digest.ts";
import { SMALL } from "./fleet.ts";

const JUNO = "487deb87cc9d";
const ICEHOUSE = "3cb628139ea4";
const KILO = "2fb93ffd2af1";
const UNKNOWN = "3bea56f25597";
const NEWER = "9fb44677ef15";
const NOBODYS = "0123456789ab";

/** What is refused, with its code and in these words, by plan unless by extract; null: it is accepted. */
type Refusal = readonly [code: string, saying: RegExp, at?: "extract"];

/** Versions of nova (null: it is not read) and nova_bm, Ironic's head. @source facts/systems.md D-2, R3, R4 */
type Pairing = readonly [nova: number | null, novaBm: number | null, head: string, Refusal | null];

const OF_ICEHOUSE =
  /3cb628139ea4 \(Icehouse, which has no instance_info.*Upgrade Ironic to juno or later/s;
const OF_A_STEP =
  /3bea56f25597 \(an intermediate step of the upgrade to juno.*Complete the upgrade with ironic-dbsync upgrade of juno/s;
const OF_NEWER = /9fb44677ef15 \(newer than 2026.1\).*Load into Ironic 2026.1 or earlier/s;
const OF_NOBODY = new RegExp(`${NOBODYS} \\(unknown here\\); supported are .*juno ${JUNO}`);

const MATRIX: readonly Pairing[] = [
  [254, 10, JUNO, null],
  [null, 10, JUNO, null],
  [234, 10, JUNO, ["N2I-E205", /Icehouse baremetal -> Juno baremetal -> Juno Ironic/]],
  [216, 8, JUNO, ["N2I-E205", /Havana baremetal -> Icehouse baremetal -> Juno/]],
  [null, 4, JUNO, ["N2I-E205", /Grizzly baremetal -> Havana/]],
  [254, 8, JUNO, ["N2I-E205", /nova 254, nova_bm 8/]],
  [254, 10, ICEHOUSE, ["N2I-E204", OF_ICEHOUSE]],
  [234, 10, ICEHOUSE, ["N2I-E204", /Icehouse/]],
  [254, 10, KILO, ["N2I-E205", /ironic kilo.*from Juno nova-baremetal to Juno Ironic/]],
  [254, 10, UNKNOWN, ["N2I-E204", OF_A_STEP]],
  [254, 10, NEWER, ["N2I-E204", OF_NEWER]],
  [254, 10, NOBODYS, ["N2I-E204", OF_NOBODY]],
  [
    280,
    10,
    JUNO,
    ["N2I-E205", /source is Kilo \(nova 280.*from Juno, or run plan with --allow-pairing/s],
  ],
  [999, 10, JUNO, ["N2I-E203", /nova schema version 999/, "extract"]],
  [254, 11, JUNO, ["N2I-E203", /nova_bm schema version 11/, "extract"]],
  [254, null, JUNO, ["N2I-E203", /no row of nova_bm in migrate_version/, "extract"]],
];

function caseOf([nova, novaBm, head]: Pairing): Case {
  const known = { version: [216, 234, 280].includes(nova ?? 0) ? (nova ?? 254) : 254 };
  return {
    ...SMALL,
    nova_bm: { ...SMALL.nova_bm, version: Math.min(novaBm ?? 10, 10) },
    nova: known,
    ironic: { release: head === KILO ? "kilo" : "juno" },
  };
}

/** Writes the versions the pairing speaks of, also those no document of ours has. */
async function stamp(made: Deployment, [nova, novaBm, head]: Pairing): Promise<void> {
  if (nova !== null) await made.nova.db("migrate_version").update({ version: nova });
  const own = novaBm === null ? { repository_id: "nova" } : { version: novaBm };
  await made.bm.db("migrate_version").update(own);
  await made.ironic.db("alembic_version").update({ version_num: head });
}

for (const pairing of MATRIX) {
  const [nova, novaBm, head, refusal] = pairing;
  const name = `nova ${nova ?? "not read"}, nova_bm ${novaBm ?? "without a version"}, ironic ${head}`;
  const [code = "", saying = /./, command = "plan"] = refusal ?? [];
  test(`${name} is ${refusal === null ? "accepted" : `refused with ${code}`}, and nothing is written`, async (t) => {
    const made = await deployFiles(t, caseOf(pairing));
    await stamp(made, pairing);
    const { at, reader, plan } = made;
    const conf = made.source.slice(made.source.indexOf("--nova-conf"));
    const source = nova === null ? [...made.source.slice(0, 2), ...conf] : made.source;
    const before = await digests(made);
    const extract = ["extract", ...at, ...source, "-q"];
    const planning = ["plan", ...at, ...reader, ...plan, "-q"];
    if (command === "extract") await refused(extract, 4, code, [saying]);
    else {
      await runs(0, extract);
      if (refusal === null) await runs(0, planning);
      else await refused(planning, 4, code, [saying]);
    }
    assert.deepEqual(await digests(made), before);
  });
}

test("a pairing the rule forbids goes with --allow-pairing, and the plan says so", async (t) => {
  const made = await deployFiles(t, { ...SMALL, nova: { version: 234 } });
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  const words = ["plan", ...made.at, ...made.reader, ...made.plan, "-q"];
  const { out } = await runs(0, [...words, "--allow-pairing"]);
  assert.match(out, /--allow-pairing/);
});

test("where releases share a head, plan wants the operator's word and keeps to it", async (t) => {
  const made = await deployFiles(t, { ...SMALL, ironic: { release: "yoga" } });
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  const planning = ["plan", ...made.at, ...made.reader, ...made.plan, "--allow-pairing", "-q"];
  await refused(planning, 4, "N2I-E208", [/9ef41f07cb58, which xena, yoga, zed share/]);
  const other = [...planning, "--ironic-release", "kilo"];
  await refused(other, 4, "N2I-E208", [/xena, yoga, zed share/]);
  const { out } = await runs(0, [...planning, "--ironic-release", "yoga"]);
  assert.match(out, /yoga/);
  await runs(0, ["apply", ...made.at, ...made.writer, "--yes", "-q"]);
  await runs(0, ["verify", ...made.at, ...made.reader, "-q"]);
  await runs(0, ["rollback", ...made.at, ...made.writer, "--all", "--yes", "-q"]);
});

test("a release that is not the head's is refused, though the head is certain", async (t) => {
  const made = await deployFiles(t, SMALL);
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  const planning = ["plan", ...made.at, ...made.reader, ...made.plan, "-q"];
  await refused([...planning, "--ironic-release", "zed"], 4, "N2I-E208", [
    /--ironic-release is zed, but .* 487deb87cc9d, which is juno/,
  ]);
  await refused([...planning, "--ironic-release", "icehouse"], 64, "N2I-E100", [/juno.*2026.1/s]);
});
