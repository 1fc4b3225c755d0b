import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { engines, test } from "../lab/engines.ts";
import { cloud, IMAGES } from "../migrate/nova/cloud.ts";
import { fakeCloud, PASSWORD, TOKEN } from "../migrate/nova/fake-cloud.ts";
import { type Later, laterCloud } from "../migrate/nova/later.ts";
import { fleet } from "../support/fleet.ts";
import { planWords } from "../support/plan-files.ts";
import { quickSessions } from "../support/quick-sessions.ts";
import { assertRefusal, type Ran, refused, run, runs } from "./cli.ts";
import { countersOf } from "./counters.ts";
import { deploy, deployFiles, extractAndPlan, load } from "./deployment.ts";
import { digest, digests, filesOf, treeOf } from "./digest.ts";
import { SMALL } from "./fleet.ts";
import { refuseLoudly } from "./loud.ts";
import { type Whole, whole } from "./whole.ts";

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, finish shows without writing, and changes nothing for a user who may not write`, async (t) => {
    const made = await deploy(engine, t, fleet(3, "2023.1"));
    const { at, reader, writer } = made;
    await load(made);
    const counters = await countersOf(made);
    const seen = async () => [await digests(made), await counters(), filesOf(made)];
    const loaded = await seen();
    const shown = await runs(0, ["finish", ...at, ...reader, "--plan", "-f", "value"]);
    assert.match(shown.out, /^clear \S+ 3 protected protected_reason automated_clean/m);
    assert.deepEqual(await seen(), loaded);
    if (engine !== "sqlite") {
      await refused(["finish", ...at, ...reader, "--yes", "-q"], 12, "N2I-E206");
      assert.deepEqual((await seen())[0], loaded[0]);
    }
    await runs(0, ["finish", ...at, ...writer, "--yes", "-q"]);
    const finished = await seen();
    assert.notDeepEqual(finished[0], loaded[0]);
    for (const undo of [[], ["--undo"]])
      await runs(0, ["finish", ...at, ...reader, "--plan", ...undo]);
    await runs(0, ["status", ...at]);
    assert.deepEqual(await seen(), finished);
  });

for (const engine of engines("mysql", "postgresql")) {
  test(`on ${engine}, apply and rollback as a user with SELECT only are refused before anything is written`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const { at, reader, writer } = made;
    await extractAndPlan(made);
    const before = await digests(made);
    await refused(["apply", ...at, ...reader, "--yes", "-q"], 12, "N2I-E206", [/SELECT, INSERT/]);
    assert.deepEqual(await digests(made), before);
    await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
    const loaded = await digests(made);
    await refused(["rollback", ...at, ...reader, "--all", "--yes", "-q"], 12, "N2I-E206");
    assert.deepEqual(await digests(made), loaded);
    await runs(0, ["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
    assert.deepEqual(await digests(made), before);
  });

  test(`on ${engine}, a privilege that is missing on ports alone stops the load with nothing kept`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const { at, writer, users, ironic } = made;
    await extractAndPlan(made);
    const before = await digests(made);
    const user = engine === "mysql" ? `'${users.writer}'@'127.0.0.1'` : users.writer;
    if (engine === "mysql") {
      await ironic.db.raw(`REVOKE INSERT ON ${ironic.name}.* FROM ${user}`);
      await ironic.db.raw(`GRANT INSERT ON ${ironic.name}.nodes TO ${user}`);
    } else await ironic.db.raw(`REVOKE INSERT ON ports FROM ${user}`);
    await refused(["apply", ...at, ...writer, "--yes", "-q"], 12, "N2I-E206", [/writing ports/]);
    assert.deepEqual(await digests(made), before);
  });

  test(`on ${engine}, a source table the user may not read is named, and no snapshot is left`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const { at, source, users, nova } = made;
    const words = ["extract", ...at, ...source, "-q"];
    if (engine === "mysql") {
      // MariaDB hides such a table, so that it cannot be told from one that is not there.
      await nova.db.raw(`REVOKE SELECT ON ${nova.name}.* FROM '${users.nova}'@'127.0.0.1'`);
      for (const table of ["migrate_version", "instances", "services", "compute_nodes"])
        await nova.db.raw(`GRANT SELECT ON ${nova.name}.${table} TO '${users.nova}'@'127.0.0.1'`);
      await refused(words, 4, "N2I-E202", [/--nova-db/, /user may not read/, /instance_types/]);
    } else {
      await nova.db.raw(`REVOKE SELECT ON instance_types FROM ${users.nova}`);
      await refused(words, 12, "N2I-E206", [
        /reading the columns of instance_types/,
        /SELECT on the sources/,
      ]);
    }
    await refused(["plan", ...at, ...made.reader, "-q"], 64, "N2I-E110", [/extract/]);
  });

  test(`on ${engine}, a column the user may not read is refused, not passed over`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const { at, source, users, bm } = made;
    const columns = Object.keys(await bm.db("bm_nodes").columnInfo());
    const most = columns.filter((name) => name !== "preserve_ephemeral").join(", ");
    if (engine === "mysql") {
      const user = `'${users.bm}'@'127.0.0.1'`;
      await bm.db.raw(`REVOKE SELECT ON ${bm.name}.* FROM ${user}`);
      await bm.db.raw(`GRANT SELECT (${most}) ON ${bm.name}.bm_nodes TO ${user}`);
      for (const table of ["bm_interfaces", "migrate_version"])
        await bm.db.raw(`GRANT SELECT ON ${bm.name}.${table} TO ${user}`);
    } else {
      await bm.db.raw(`REVOKE SELECT ON bm_nodes FROM ${users.bm}`);
      await bm.db.raw(`GRANT SELECT (${most}) ON bm_nodes TO ${users.bm}`);
    }
    await refused(["extract", ...at, ...source, "-q"], 12, "N2I-E206", [/columns of bm_nodes/]);
  });
}

const SECRET = "adminPass-in-a-row-of-nova-api-77c1";
const DELETE = ["--flavor-images", "delete"];
const VOICES = [[], ["--debug"], ["--json"]];

/** Nothing of these in what was said and what the run keeps. */
function silent({ out, err }: Ran, folder: string, secrets: readonly string[]): void {
  const journal = `${folder}/journal.jsonl`;
  const kept = existsSync(journal) ? [readFileSync(journal, "utf8")] : [];
  for (const text of [out, err, planWords(folder), ...kept])
    for (const secret of secrets) assert.ok(!text.includes(secret), `${secret} in\n${text}`);
}

function passwords({ folder, engine }: Later): readonly string[] {
  const roles = ["bm", "nova", "reader", "writer", "writes", "apireads", "apiwrites"];
  const found = roles.flatMap((role) => {
    const url = readFileSync(`${folder}/${role}.url`, "utf8");
    return /:\/\/[^:]+:([^@]+)@/.exec(url)?.[1] ?? [];
  });
  assert.equal(found.length, engine === "sqlite" ? 0 : roles.length);
  return found;
}

for (const engine of engines())
  test(`on ${engine}, users with SELECT only suffice for each command that reads nova_api, nothing is written, and no password told`, async (t) => {
    const made = await laterCloud(engine, t, DELETE);
    const { at, source, reader, writer, novaWriter, plan, api, apiReader, apiWriter } = made;
    const beside = [...reader, ...source.slice(2, 4), ...apiReader];
    const seen = async () => [...(await digests(made)), await digest(api)];
    const before = await seen();
    const secrets = [...passwords(made), SECRET];
    const release = ["--ironic-release", "train"];
    const looks: readonly (readonly [readonly number[], readonly string[]])[] = [
      [[0], ["plan", ...at, ...beside, ...plan, ...release, ...DELETE, "--debug"]],
      [[0], ["show", `${made.run}/plan`, "--nova", "-f", "json"]],
      [[2], ["verify", ...at, ...beside, "-f", "json", "--debug"]],
      [
        [1, 2],
        ["check", ...at, ...source.slice(0, 4), ...reader, ...apiReader, "--watch", "0"],
      ],
    ];
    const looked = async (some: typeof looks): Promise<void> => {
      for (const [statuses, words] of some) {
        const ran = await run(words);
        assert.ok(statuses.includes(ran.status), `${words.join(" ")}\n${ran.out}${ran.err}`);
        silent(ran, made.run, secrets);
      }
    };
    await looked(looks);
    assert.deepEqual(await seen(), before);

    const apply = ["apply", ...at, ...writer, ...novaWriter, "--yes", "-q"];
    if (engine !== "sqlite")
      assertRefusal(await run([...apply, ...apiReader]), 12, "N2I-E206", /flavor_extra_specs/);
    const drop = await refuseLoudly(api, "DELETE", "flavor_extra_specs", `'${SECRET}'`);
    for (const voice of VOICES) {
      const ran = await runs(1, [...apply, ...apiWriter, ...voice]);
      assert.match(ran.err, /N2I-E207/);
      silent(ran, made.run, secrets);
    }
    assert.deepEqual(await seen(), before);
    await drop();
    await runs(0, [...apply, ...apiWriter]);
    const loaded = await seen();
    assert.notEqual(loaded.at(-1), before.at(-1));
    const back = ["rollback", ...at, "--all", "-q"];
    await looked([
      [[0], ["verify", ...at, ...beside, "--all-rows", "-f", "json", "--debug"]],
      [[0], [...back, ...beside, "--plan", "-f", "json", "--debug"]],
    ]);
    assert.deepEqual(await seen(), loaded);
    await runs(0, [...back, ...writer, ...novaWriter, ...apiWriter, "--yes"]);
    assert.deepEqual(await seen(), before);
  });

test("neither Keystone's password nor its token is reported or saved, whatever the answer of Glance", async (t) => {
  const made = await deployFiles(t, cloud({ machines: 2, others: 1 }));
  const { at, source, reader, plan, run: folder } = made;
  const service = await fakeCloud(t);
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  await runs(0, ["extract", ...at, ...source, "-q"]);
  const planning = ["plan", ...at, ...reader, ...source.slice(2, 4), ...plan, ...IMAGES];
  const check = ["check", ...at, ...source.slice(0, 4), ...reader, "--watch", "0", "--glance"];
  await runs(0, [...planning, "-q"]);
  const wrong = { ...service.env, OS_PASSWORD: `${PASSWORD.slice(1)}-mistyped` };
  const message = `x-auth-token ${TOKEN}, password ${PASSWORD}`;
  for (const status of [200, 400, 401, 403, 500])
    for (const words of [planning, check])
      for (const env of [service.env, wrong]) {
        service.answer = { status, body: { forbidden: { message } } };
        const ran = await run([...words, "--debug"], { env });
        silent(ran, folder, [PASSWORD, TOKEN, wrong.OS_PASSWORD]);
      }
  assert.ok(service.calls.length > 5);
});

test("words that do not fit nova_api or nova.conf are one paragraph with its code, and nothing is written", async (t) => {
  const made = await laterCloud("sqlite", t, DELETE);
  const { at, source, reader, writer, novaWriter, plan, apiWriter, folder, api } = made;
  const [novaDb = "", apiDb = ""] = [source[3], apiWriter[1]];
  const planning = ["plan", ...at, ...reader, ...plan, "--ironic-release", "train"];
  const apply = ["apply", ...at, ...writer, ...novaWriter, "--yes"];
  const config = ["config", ...at, "--ironic-release", "newton"];
  const check = ["check", ...at, ...source.slice(0, 4), ...reader, "--watch", "0"];
  const seen = async () => [...(await digests(made)), await digest(api), treeOf(made.run)];
  const before = await seen();
  for (const [status, code, saying, words] of [
    [64, "N2I-E100", /--nova-api-db needs --nova-db/, [...planning, ...apiWriter]],
    [64, "N2I-E102", /nova-api-db/, [...planning, "--nova-db", novaDb, "--nova-api-db", ""]],
    [4, "N2I-E202", /nova_api/, [...planning, "--nova-db", novaDb, "--nova-api-db", novaDb]],
    [4, "N2I-E202", /not a nova database/, [...planning, "--nova-db", apiDb, ...apiWriter]],
    [4, "N2I-E202", /nova_api/, [...apply, "--nova-api-db", source[1] ?? ""]],
    [4, "N2I-E311", /flavors in nova_api/, apply],
    [64, "N2I-E104", /not a regular file|EISDIR/, [...config, "--nova-conf", folder]],
    [64, "N2I-E104", /./, [...config, "--nova-conf", "h=/dev/zero"]],
    [64, "N2I-E100", /part/, [...config, "--part", "api"]],
    [64, "N2I-E100", /ironic-release/, ["config", "--ironic-release", "austin"]],
    [255, "N2I-E102", /nova-api-db/, [...check, "--nova-api-db", "env:NOTHING_HERE"]],
    [255, "N2I-E101", /placement-db/, [...check, "--placement-db", "mysql://u:secret@h/p"]],
  ] as const)
    assertRefusal(await run([...words, "-q"]), status, code, saying);
  assert.deepEqual(await seen(), before);
});

/** Every command and form that only reads, with its status before anything is loaded and after. */
function readers(made: Whole): readonly (readonly [number, number, readonly string[]])[] {
  const { at, reader, novaReader, boot, planning, run: folder } = made;
  return [
    [0, 0, [...planning, "--diff", "--all"]],
    [0, 0, ["show", `${folder}/snapshot.jsonl`]],
    [0, 0, ["show", `${folder}/plan`, "--nova"]],
    [0, 0, ["show", `${folder}/plan`, "--diff"]],
    [0, 0, [...boot, "--plan"]],
    [2, 0, [...boot, "--verify"]],
    [2, 0, ["verify", ...at, ...reader, ...novaReader]],
    [2, 2, ["verify", ...at, ...reader, "--takeover"]],
    [0, 0, ["rollback", ...at, ...reader, ...novaReader, "--all", "--plan"]],
    [4, 0, ["finish", ...at, ...reader, "--plan"]],
    [0, 0, ["status", ...at]],
  ];
}

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, users with SELECT only suffice for check, boot's plan, --takeover and --nova-db, and nothing is written`, async (t) => {
    quickSessions(t);
    const made = await whole(engine, t);
    const { at, writer, novaWriter, boot, check, extract } = made;
    const counters = await countersOf(made);
    const rows = async () => [await digests(made), made.trees()];
    const seen = async () => [await rows(), filesOf(made)];
    const [first, before, counted] = [await rows(), await seen(), await counters()];
    await runs(0, extract);
    // The second round proves the differences on servers.
    const round = engine === "sqlite" ? readers(made) : readers(made).slice(0, 1);
    for (const [status, , words] of round) await runs(status, words);
    assert.deepEqual(await seen(), before);
    assert.deepEqual(await counters(), counted);
    // It asks for rights to write by statements that write no row; a file gives them to everybody.
    await runs(engine === "sqlite" ? 1 : 2, check);
    await runs(
      1,
      check.map((word) =>
        word.replace("reader.url", "writer.url").replace("/nova.url", "/writes.url"),
      ),
    );
    assert.deepEqual(await seen(), before);

    const both = [...at, ...writer, ...novaWriter, "--yes", "-q"];
    await runs(0, ["apply", ...both, "--staged"]);
    await runs(0, [...boot, "--yes"]);
    await runs(3, ["handover", ...at, ...writer, "--node", "1", "--deadline", "1", "--yes"]);
    const [loaded, written] = [await seen(), await counters()];
    assert.notDeepEqual(loaded, before);
    if (engine !== "sqlite") assert.notDeepEqual(written, counted, "the counters do count");
    for (const [, status, words] of readers(made)) await runs(status, words);
    assert.deepEqual(await counters(), written);
    await runs(engine === "sqlite" ? 1 : 2, check);
    assert.deepEqual(await seen(), loaded);
    await runs(0, [...boot, "--undo", "--yes"]);
    await runs(0, ["rollback", ...both, "--all"]);
    assert.deepEqual(await rows(), first);
  });
