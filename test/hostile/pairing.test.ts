import assert from "node:assert/strict";
import { test } from "node:test";
import type { Case } from "../../src/demo/case.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { refused, runs } from "./cli.ts";
import { type Deployment, deploy, deployFiles } from "./deployment.ts";
import { digests } from "./digest.ts";
import { SMALL } from "./fleet.ts";

const JUNO = "487deb87cc9d";
const ICEHOUSE = "3cb628139ea4";
const KILO = "2fb93ffd2af1";
const UNKNOWN = "3bea56f25597";
const NEWER = "9fb44677ef15";
const NOBODYS = "0123456789ab";

interface Pairing {
  readonly nova: number | null;
  readonly novaBm: number | null;
  readonly head: string;
  /** Null: accepted. */
  readonly refusal: null | {
    readonly code: string;
    readonly saying: RegExp;
    readonly at?: "extract";
  };
}

/** @source facts/systems.md D-2, R3, R4 */
const MATRIX: readonly Pairing[] = [
  { nova: 254, novaBm: 10, head: JUNO, refusal: null },
  { nova: null, novaBm: 10, head: JUNO, refusal: null },
  {
    ...{ nova: 234, novaBm: 10, head: JUNO },
    refusal: {
      code: "N2I-E205",
      saying: /Icehouse baremetal -> Juno baremetal -> Juno Ironic/,
    },
  },
  {
    ...{ nova: 216, novaBm: 8, head: JUNO },
    refusal: { code: "N2I-E205", saying: /Havana baremetal -> Icehouse baremetal -> Juno/ },
  },
  {
    ...{ nova: null, novaBm: 4, head: JUNO },
    refusal: { code: "N2I-E205", saying: /Grizzly baremetal -> Havana/ },
  },
  {
    ...{ nova: 254, novaBm: 8, head: JUNO },
    refusal: { code: "N2I-E205", saying: /nova 254, nova_bm 8/ },
  },
  {
    ...{ nova: 254, novaBm: 10, head: ICEHOUSE },
    refusal: {
      code: "N2I-E204",
      saying:
        /3cb628139ea4 \(Icehouse, which has no instance_info.*Upgrade Ironic to juno or later/s,
    },
  },
  {
    ...{ nova: 234, novaBm: 10, head: ICEHOUSE },
    refusal: { code: "N2I-E204", saying: /Icehouse/ },
  },
  {
    ...{ nova: 254, novaBm: 10, head: KILO },
    refusal: { code: "N2I-E205", saying: /ironic kilo.*from Juno nova-baremetal to Juno Ironic/ },
  },
  {
    ...{ nova: 254, novaBm: 10, head: UNKNOWN },
    refusal: {
      code: "N2I-E204",
      saying:
        /3bea56f25597 \(a step on the way to juno.*Finish with ironic-dbsync upgrade of juno/s,
    },
  },
  {
    ...{ nova: 254, novaBm: 10, head: NEWER },
    refusal: {
      code: "N2I-E204",
      saying: /9fb44677ef15 \(newer than 2026.1\).*Load into an Ironic of 2026.1 or before/s,
    },
  },
  {
    ...{ nova: 254, novaBm: 10, head: NOBODYS },
    refusal: {
      code: "N2I-E204",
      saying: new RegExp(`${NOBODYS} \\(unknown here\\); supported are .*juno ${JUNO}`),
    },
  },
  {
    ...{ nova: 280, novaBm: 10, head: JUNO },
    refusal: { code: "N2I-E205", saying: /source is Kilo \(nova 280.*from Juno, or give/s },
  },
  {
    ...{ nova: 999, novaBm: 10, head: JUNO },
    refusal: { code: "N2I-E203", saying: /nova schema version 999/, at: "extract" },
  },
  {
    ...{ nova: 254, novaBm: 11, head: JUNO },
    refusal: { code: "N2I-E203", saying: /nova_bm schema version 11/, at: "extract" },
  },
  {
    ...{ nova: 254, novaBm: null, head: JUNO },
    refusal: { code: "N2I-E203", saying: /no row of nova_bm in migrate_version/, at: "extract" },
  },
];

function caseOf({ nova, novaBm, head }: Pairing): Case {
  const known = { version: [216, 234, 280].includes(nova ?? 0) ? (nova ?? 254) : 254 };
  return {
    ...SMALL,
    nova_bm: { ...SMALL.nova_bm, version: Math.min(novaBm ?? 10, 10) },
    nova: known,
    ironic: { release: head === KILO ? "kilo" : "juno" },
  };
}

/** Writes the versions the pairing speaks of, also those no document of ours has. */
async function stamp(made: Deployment, { nova, novaBm, head }: Pairing): Promise<void> {
  if (nova !== null) await made.nova.db("migrate_version").update({ version: nova });
  const own = novaBm === null ? { repository_id: "nova" } : { version: novaBm };
  await made.bm.db("migrate_version").update(own);
  await made.ironic.db("alembic_version").update({ version_num: head });
}

for (const pairing of MATRIX) {
  const { nova, novaBm, head, refusal } = pairing;
  const name = `nova ${nova ?? "not read"}, nova_bm ${novaBm ?? "without a version"}, ironic ${head}`;
  testOnce(
    `${name} is ${refusal === null ? "accepted" : `refused with ${refusal.code}`}, and nothing is written`,
    async (t) => {
      const made = await deployFiles(t, caseOf(pairing));
      await stamp(made, pairing);
      const { at, reader, plan } = made;
      const conf = made.source.slice(made.source.indexOf("--nova-conf"));
      const source = nova === null ? [...made.source.slice(0, 2), ...conf] : made.source;
      const before = await digests(made);
      const extract = ["extract", ...at, ...source, "-q"];
      const planning = ["plan", ...at, ...reader, ...plan, "-q"];
      if (refusal?.at === "extract") await refused(extract, 4, refusal.code, [refusal.saying]);
      else {
        await runs(0, extract);
        if (refusal === null) await runs(0, planning);
        else await refused(planning, 4, refusal.code, [refusal.saying]);
      }
      assert.deepEqual(await digests(made), before);
    },
  );
}

testOnce(
  "a pairing the rule forbids goes with --allow-pairing, and the plan says so",
  async (t) => {
    const made = await deployFiles(t, { ...SMALL, nova: { version: 234 } });
    await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
    const words = ["plan", ...made.at, ...made.reader, ...made.plan, "-q"];
    const { out } = await runs(0, [...words, "--allow-pairing"]);
    assert.match(out, /--allow-pairing/);
  },
);

testOnce(
  "where releases share a head, plan wants the operator's word and keeps to it",
  async (t) => {
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
  },
);

testOnce("a release that is not the head's is refused, though the head is certain", async (t) => {
  const made = await deployFiles(t, SMALL);
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  const planning = ["plan", ...made.at, ...made.reader, ...made.plan, "-q"];
  await refused([...planning, "--ironic-release", "zed"], 4, "N2I-E208", [
    /--ironic-release is zed, but .* 487deb87cc9d, which is juno/,
  ]);
  await refused([...planning, "--ironic-release", "icehouse"], 64, "N2I-E100", [/juno.*2026.1/s]);
});

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, columns that do not fit the head are refused and named, whichever side has more`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const { at, reader, plan, ironic } = made;
    await runs(0, ["extract", ...at, ...made.source, "-q"]);
    const planning = ["plan", ...at, ...reader, ...plan, "-q"];
    await ironic.db.raw("ALTER TABLE nodes ADD COLUMN vendor_thing varchar(20)");
    await refused(planning, 4, "N2I-E204", [/nodes .*juno.*has also vendor_thing/]);
    await ironic.db.raw("ALTER TABLE nodes DROP COLUMN vendor_thing");
    await ironic.db.raw("ALTER TABLE ports RENAME COLUMN extra TO extras");
    await refused(planning, 4, "N2I-E204", [/ports .*lacks extra, has also extras/]);
    await ironic.db.raw("ALTER TABLE ports RENAME COLUMN extras TO extra");
    await ironic.db("alembic_version").delete();
    await refused(planning, 4, "N2I-E204", [/at alembic head none/]);
    await ironic.db("alembic_version").insert([{ version_num: JUNO }, { version_num: "another" }]);
    await refused(planning, 4, "N2I-E204", [/\+/]);
  });
