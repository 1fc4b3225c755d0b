import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { cloud, IMAGES } from "../migrate/nova/cloud.ts";
import { fakeCloud, PASSWORD, TOKEN } from "../migrate/nova/fake-cloud.ts";
import { type Later, laterCloud } from "../migrate/nova/later.ts";
import { planWords } from "../support/plan-files.ts";
import { assertRefusal, type Ran, run, runs } from "./cli.ts";
import { deployFiles } from "./deployment.ts";
import { digest, digests, treeOf } from "./digest.ts";
import { refuseLoudly } from "./loud.ts";

const SECRET = "adminPass-in-a-row-of-nova-api-77c1";
const DELETE = ["--flavor-images", "delete"];
/** Every way to be told of an error. */
const VOICES = [[], ["--debug"], ["--json"]];

/** Nothing of these in what was said and what the run keeps. */
function silent({ out, err }: Ran, folder: string, secrets: readonly string[]): void {
  const journal = `${folder}/journal.jsonl`;
  const kept = existsSync(journal) ? [readFileSync(journal, "utf8")] : [];
  for (const text of [out, err, planWords(folder), ...kept])
    for (const secret of secrets) assert.ok(!text.includes(secret), `${secret} in\n${text}`);
}

/** Passwords of the users of each database; none of files. */
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
      const ran = await run([...apply, ...apiWriter, ...voice]);
      assert.equal(ran.status, 1, ran.err);
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

testOnce(
  "neither Keystone's password nor its token is reported or saved, whatever the answer of Glance",
  async (t) => {
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
  },
);

testOnce(
  "words that do not fit nova_api or nova.conf are one paragraph with its code, and nothing is written",
  async (t) => {
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
  },
);
