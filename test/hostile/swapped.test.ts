import assert from "node:assert/strict";
import { test } from "node:test";
import { engines, testOnce } from "../lab/engines.ts";
import { refused, runs } from "./cli.ts";
import { type Deployment, deploy, deployFiles, plannedFiles } from "./deployment.ts";
import { digests } from "./digest.ts";
import { SMALL } from "./fleet.ts";

type Role = "bm" | "nova" | "ironic";

function fileOf(made: Deployment, role: Role): string {
  return `file:${made.folder}/${role === "ironic" ? "writer" : role}.url`;
}

/** What stands in the place of the one that is wanted, and what the refusal must say. */
const SWAPS: readonly (readonly [Role, Role, RegExp])[] = [
  ["bm", "nova", /--nova-bm-db .* is a nova database/],
  ["bm", "ironic", /--nova-bm-db .* is an Ironic database/],
  ["nova", "bm", /--nova-db .* is not a nova database/],
  ["nova", "ironic", /--nova-db .* is not a nova database/],
  ["ironic", "bm", /--ironic-db .* is not an Ironic database.*nova_bm/],
  ["ironic", "nova", /--ironic-db .* is not an Ironic database/],
];

for (const engine of engines())
  test(`on ${engine}, every two addresses that are swapped are told before anything is written`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const { at } = made;
    const extract = (bm: Role, nova: Role): readonly string[] => [
      ...["extract", ...at, "-q", "--nova-bm-db", fileOf(made, bm)],
      ...["--nova-db", fileOf(made, nova), ...made.source.slice(4)],
    ];
    await runs(0, extract("bm", "nova"));
    await runs(0, ["plan", ...at, "--ironic-db", fileOf(made, "ironic"), ...made.plan, "-q"]);
    const before = await digests(made);
    for (const [wanted, given, saying] of SWAPS) {
      const words =
        wanted === "ironic"
          ? [["apply", ...at, "--ironic-db", fileOf(made, given), "--yes", "--skip-blocked", "-q"]]
          : [wanted === "bm" ? extract(given, "nova") : extract("bm", given)];
      for (const each of words) await refused(each, 4, "N2I-E202", [saying]);
    }
    await refused(extract("nova", "bm"), 4, "N2I-E202", [/--nova-bm-db/]);
    assert.deepEqual(await digests(made), before);
    const told = await runs(0, ["status", ...at, "-f", "json"]);
    assert.doesNotMatch(told.out, /N2I-E11\d/, "the run is whole");
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
    const [{ version_num: head }] = await ironic.db("alembic_version");
    await ironic.db("alembic_version").delete();
    await refused(planning, 4, "N2I-E204", [/at alembic head none/]);
    await ironic.db("alembic_version").insert([{ version_num: head }, { version_num: "another" }]);
    await refused(planning, 4, "N2I-E204", [/\+/]);
  });

testOnce(
  "another Ironic than the plan was made for is refused, and says what is different",
  async (t) => {
    const [made, other] = [await plannedFiles(t, SMALL), await deployFiles(t, SMALL)];
    const before = await digests(other);
    await refused(["apply", ...made.at, ...other.writer, "--yes", "-q"], 4, "N2I-E300", [
      /another target: address was .*, is .*; server was /,
    ]);
    await refused(["verify", ...made.at, ...other.reader, "-q"], 4, "N2I-E300", [/another target/]);
    assert.deepEqual(await digests(other), before);
  },
);

testOnce(
  "a table of nova_bm that is gone, and a file that is no database, are refused",
  async (t) => {
    const made = await deployFiles(t, SMALL);
    await made.bm.db.raw("DROP TABLE bm_interfaces");
    await refused(["extract", ...made.at, ...made.source, "-q"], 4, "N2I-E202", [/bm_interfaces/]);
    const ironic = `sqlite:///${made.folder}/site.json`;
    await refused(["extract", ...made.at, "--nova-bm-db", ironic, "-q"], 4, "N2I-E202", [/NOTADB/]);
    await refused(
      ["extract", ...made.at, "--nova-bm-db", `sqlite:///${made.folder}/none.sqlite`, "-q"],
      1,
      "N2I-E200",
      [/no such file/],
    );
    await runs(1, ["extract", ...made.at, "--nova-bm-db", `sqlite:///${made.folder}`, "-q"]);
  },
);
