import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../src/model/database.ts";
import { type Case, caseMac, caseUuid } from "../cases/case.ts";
import { engines, test } from "../lab/engines.ts";
import { refused, runs } from "./cli.ts";
import {
  type Deployment,
  deploy,
  deployFiles,
  extractAndPlan,
  load,
  plannedFiles,
} from "./deployment.ts";
import { digests } from "./digest.ts";
import { SITE, SMALL, tenant } from "./fleet.ts";

interface Line {
  readonly "BM ID": number;
  readonly Verdict: string;
  readonly Findings: string;
  readonly Ports: number;
}

const CONTROL = "\u001b[2J\u202e\r\n\t";

/** Rows nobody should have, each with one thing wrong; the healthy ones are 1 and 2. */
const HOSTILE: Case = {
  shows: "rows nobody should have",
  nova_bm: {
    nodes: [
      tenant(1),
      { id: 2 },
      { id: 3 },
      { id: 4 },
      { id: 5 },
      { id: 6, uuid: null },
      { id: 7, uuid: "not-a-uuid" },
      { id: 8, uuid: "" },
      { id: 9, pm_address: CONTROL, pm_user: CONTROL },
      { id: 10, pm_password: "pass🔑word" },
      { id: 11, cpus: null, memory_mb: 0, local_gb: -1 },
      { id: 12, task_state: "x".repeat(255) },
      { id: 13 },
      tenant(14, { instance_uuid: caseUuid("instance", 1) }),
    ],
    interfaces: [
      ...[1, 2, 6, 7, 8, 9, 10, 11, 12, 13, 14].map((id) => ({
        bm_node_id: id,
        address: caseMac(id, 0),
      })),
      { bm_node_id: 3, address: "5".repeat(255) },
      { bm_node_id: 4, address: caseMac(13, 0).toUpperCase() },
      { bm_node_id: 5, address: CONTROL },
      { bm_node_id: 900, address: caseMac(900, 0) },
      { bm_node_id: null, address: null },
      { bm_node_id: 2, address: "" },
    ],
  },
  nova: { instances: [{ uuid: caseUuid("instance", 1) }] },
  site: SITE,
};

/** MariaDB's own key knows no case: there the same MAC is written with dashes. */
function hostileOn(engine: Engine): Case {
  const { nodes, interfaces = [] } = HOSTILE.nova_bm;
  if (engine !== "mysql") return HOSTILE;
  const dashes = caseMac(13, 0).replaceAll(":", "-");
  const spelt = interfaces.map((row) => (row.bm_node_id === 4 ? { ...row, address: dashes } : row));
  return { ...HOSTILE, nova_bm: { nodes, interfaces: spelt } };
}

async function lines(made: Deployment): Promise<ReadonlyMap<number, Line>> {
  const { out } = await runs(0, ["show", `${made.run}/plan`, "-f", "json"]);
  // The tool's own JSON; the columns are those of `show plan`.
  const rows = JSON.parse(out) as Line[];
  return new Map(rows.map((row) => [row["BM ID"], row]));
}

/** Control characters other than the line break, and marks that reverse the reading direction. */
function unseen(text: string): readonly string[] {
  return [...text].filter((letter) => letter !== "\n" && /\p{Cc}|\p{Bidi_Control}/u.test(letter));
}

/** What is wrong and must be told: bm_nodes.id, verdict, a finding. */
const EXPECTED: readonly (readonly [number, string, RegExp])[] = [
  [1, "create", /N2I-D113/],
  [2, "blocked", /N2I-D010/],
  [3, "blocked", /N2I-D010/],
  [4, "blocked", /N2I-D011/],
  [5, "blocked", /N2I-D010/],
  [6, "blocked", /N2I-D001/],
  [7, "blocked", /N2I-D002/],
  [8, "blocked", /N2I-D001/],
  [9, "blocked", /^N2I-D306 N2I-D611 N2I-D312$/],
  [10, "create", /N2I-D306/],
  [11, "create", /N2I-D006/],
  [12, "blocked", /N2I-D101/],
  [13, "blocked", /N2I-D011/],
  [14, "create", /N2I-D103/],
];

for (const engine of engines())
  test(`on ${engine}, rows nobody should have are told one by one, and the others are loaded and taken back`, async (t) => {
    const made = await deploy(engine, t, hostileOn(engine));
    const { at, source, reader, writer, plan } = made;
    const before = await digests(made);
    const extracted = await runs(0, ["extract", ...at, ...source, "-q"]);
    assert.match(extracted.out, /14 machines .*\(and 2 without a node\)/);
    const planned = await runs(0, ["plan", ...at, ...reader, ...plan, "--diff", "--all", "-q"]);
    assert.deepEqual(unseen(planned.out), [], "nothing repaints the screen");
    const told = await lines(made);
    assert.equal(told.size, 14);
    for (const [id, verdict, finding] of EXPECTED) {
      const line = told.get(id);
      assert.equal(line?.Verdict, verdict, `${id}: ${JSON.stringify(line)}`);
      assert.match(line?.Findings ?? "", finding, `${id}`);
    }
    const applied = await runs(3, ["apply", ...at, ...writer, "--yes", "--skip-blocked", "-q"]);
    for (const [id, verdict] of EXPECTED)
      if (verdict === "blocked") assert.match(applied.out, new RegExp(`bm_nodes.id=${id}\\b`));
    await runs(0, ["verify", ...at, ...reader, "-q"]);
    await runs(0, ["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
    assert.deepEqual(await digests(made), before);
  });

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, NUL bytes, 65,535 bytes and a MAC of 300 characters are told or carried whole`, async (t) => {
    const made = await deploy(engine, t, {
      ...HOSTILE,
      nova_bm: { nodes: [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }] },
    });
    const { at, reader, writer, bm } = made;
    if (engine === "mysql") {
      await bm.db.raw("ALTER TABLE bm_nodes MODIFY pm_address TEXT, MODIFY pm_password TEXT");
      await bm.db.raw("ALTER TABLE bm_interfaces MODIFY address TEXT");
    }
    if (engine === "sqlite")
      await bm.db.raw("UPDATE bm_nodes SET pm_user = CAST(x'61ff62' AS text) WHERE id = 1");
    const set = (id: number, row: object) => bm.db("bm_nodes").where({ id }).update(row);
    await set(1, { pm_password: "a\0b" });
    await set(2, { pm_address: "1".repeat(65_535) });
    await set(3, { pm_password: "x".repeat(65_535) });
    const address = "5".repeat(300);
    await bm.db("bm_interfaces").where({ bm_node_id: 4 }).update({ address });
    const before = await digests(made);
    const { out } = await extractAndPlan(made);
    assert.ok(Math.max(...out.split("\n").map((line) => line.length)) < 1000, "no line runs wild");
    const told = await lines(made);
    assert.match(told.get(1)?.Findings ?? "", /N2I-D009/, engine);
    const verdict = told.get(4)?.Verdict;
    assert.equal(verdict, "blocked", `${engine} ${JSON.stringify([...told.values()])}`);
    assert.equal(told.get(5)?.Verdict, "create", engine);
    await runs(3, ["apply", ...at, ...writer, "--yes", "--skip-blocked", "-q"]);
    await runs(0, ["verify", ...at, ...reader, "-q"]);
    await runs(0, ["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
    assert.deepEqual(await digests(made), before);
  });

for (const engine of engines("mysql"))
  for (const charset of ["utf8mb3", "latin1"])
    test(`an Ironic of ${charset} stores four-byte characters in secrets and names unchanged, or the machine is reported`, async (t) => {
      const given: Case = {
        ...HOSTILE,
        nova_bm: { nodes: [{ id: 1, pm_password: "k€y🔑", pm_user: "rööt🔑" }, { id: 2 }] },
      };
      const made = await deploy(engine, t, given, { ironic: charset });
      const { at, reader, writer, ironic } = made;
      const before = await digests(made);
      await load(made);
      await runs(0, ["verify", ...at, ...reader, "-q"]);
      const [row] = await ironic.db("nodes").where({ uuid: caseUuid("node", 1) });
      assert.equal(JSON.parse(row.driver_info).ipmi_password, "k€y🔑");
      await runs(0, ["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
      assert.deepEqual(await digests(made), before);
    });

for (const engine of engines("mysql"))
  test("nova_bm in latin1 tables that hold UTF-8 bytes blocks, and loads what was meant at the site document's word", async (t) => {
    const nodes = [{ id: 1, pm_user: "jÃ³zef", pm_password: "hasÅ‚o" }, { id: 2 }];
    const charset = { match: {}, set: { credentials_charset: "utf8" } };
    const site = { ...SITE, machines: [...SITE.machines, charset] };
    for (const given of [
      { ...HOSTILE, nova_bm: { nodes } },
      { ...HOSTILE, nova_bm: { nodes }, site },
    ] satisfies Case[]) {
      const made = await deploy(engine, t, given, { bm: "latin1" });
      await extractAndPlan(made);
      const line = (await lines(made)).get(1);
      if (given.site !== site) {
        assert.deepEqual([line?.Verdict, line?.Findings.includes("N2I-D125")], ["blocked", true]);
        continue;
      }
      assert.equal(line?.Verdict, "create", line?.Findings);
      await runs(0, ["apply", ...made.at, ...made.writer, "--yes", "-q"]);
      const [row] = await made.ironic.db("nodes").where({ uuid: caseUuid("node", 1) });
      const info = JSON.parse(row.driver_info);
      assert.deepEqual([info.ipmi_username, info.ipmi_password], ["józef", "hasło"]);
    }
  });

const TWICE: Case = {
  shows: "two uuids that differ in case only",
  site: SITE,
  nova_bm: {
    nodes: [
      { id: 1, uuid: caseUuid("node", 10) },
      { id: 2, uuid: caseUuid("node", 10).toUpperCase() },
      { id: 3 },
    ],
  },
};

// MariaDB's own key refuses the second of them.
for (const engine of engines("sqlite", "postgresql"))
  test(`on ${engine}, uuids that differ in case only block both machines, and no other`, async (t) => {
    const made = await deploy(engine, t, TWICE);
    const { run } = made;
    await extractAndPlan(made);
    const columns = ["-c", "BM ID", "-c", "Verdict", "-c", "Findings"];
    const { out } = await runs(0, ["show", `${run}/plan`, "-f", "value", ...columns]);
    assert.deepEqual(out.trimEnd().split("\n"), [
      "1 blocked N2I-D016 N2I-D604",
      "2 blocked N2I-D016 N2I-D604",
      "3 create N2I-D604",
    ]);
  });

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, columns that do not fit the head are refused and named, whichever side has more`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const { at, reader, plan, ironic } = made;
    await runs(0, ["extract", ...at, ...made.source, "-q"]);
    const planning = ["plan", ...at, ...reader, ...plan, "-q"];
    await ironic.db.raw("ALTER TABLE nodes ADD COLUMN vendor_thing varchar(20)");
    await refused(planning, 4, "N2I-E204", [/nodes .*juno.*and also has vendor_thing/]);
    await ironic.db.raw("ALTER TABLE nodes DROP COLUMN vendor_thing");
    await ironic.db.raw("ALTER TABLE ports RENAME COLUMN extra TO extras");
    await refused(planning, 4, "N2I-E204", [/ports .*lacks extra, and also has extras/]);
    await ironic.db.raw("ALTER TABLE ports RENAME COLUMN extras TO extra");
    const [{ version_num: head }] = await ironic.db("alembic_version");
    await ironic.db("alembic_version").delete();
    await refused(planning, 4, "N2I-E204", [/at alembic head none/]);
    await ironic.db("alembic_version").insert([{ version_num: head }, { version_num: "another" }]);
    await refused(planning, 4, "N2I-E204", [/\+/]);
  });

test("apply refuses an Ironic other than that of the plan, and names the difference", async (t) => {
  const [made, other] = [await plannedFiles(t, SMALL), await deployFiles(t, SMALL)];
  const before = await digests(other);
  await refused(["apply", ...made.at, ...other.writer, "--yes", "-q"], 4, "N2I-E300", [
    /different target: address was .*, is .*; server was /,
  ]);
  await refused(["verify", ...made.at, ...other.reader, "-q"], 4, "N2I-E300", [/different target/]);
  assert.deepEqual(await digests(other), before);
});

test("a table that extract or plan needs is missing, or the file is no database: extract refuses", async (t) => {
  const made = await deployFiles(t, SMALL);
  const extract = ["extract", ...made.at, ...made.source, "-q"];
  // The plan changes rows there, so that extract needs the table as well.
  await made.nova.db.schema.renameTable("aggregate_hosts", "other");
  await refused(extract, 4, "N2I-E202", [/--nova-db .*there is no aggregate_hosts/]);
  await made.nova.db.schema.renameTable("other", "aggregate_hosts");
  await made.nova.db.schema.table("services", (table) => table.dropColumn("disabled_reason"));
  await refused(extract, 4, "N2I-E203", [/services lacks disabled_reason/]);
  assert.ok(!existsSync(join(made.run, "snapshot.jsonl")));
  await made.bm.db.raw("DROP TABLE bm_interfaces");
  await refused(extract, 4, "N2I-E202", [/bm_interfaces/]);
  const of = (name: string) => [
    ...["extract", ...made.at, "--nova-bm-db", `sqlite:///${made.folder}${name}`, "-q"],
  ];
  await refused(of("/site.json"), 4, "N2I-E202", [/NOTADB/]);
  await refused(of("/none.sqlite"), 1, "N2I-E200", [/no such file/]);
  await runs(1, of(""));
});
