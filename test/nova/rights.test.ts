import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ends, refused, run, runs } from "../hostile/cli.ts";
import { refuseLoudly } from "../hostile/loud.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { planWords } from "../support/plan-files.ts";
import { plannedCloud } from "./planned.ts";

const SECRET = "adminPass-in-a-row-5d1e";

for (const engine of engines())
  test(`on ${engine}, a user with SELECT only suffices to plan, show, verify and preview, and nothing is written`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { at, reader, source, run: folder, act } = made;
    const nova = source.slice(2, 4);
    await runs(0, ["show", `${folder}/plan`, "--nova"]);
    await runs(0, ["status", ...at]);
    await runs(2, ["verify", ...at, ...reader, ...nova, "-q"]);
    assert.deepEqual(await made.now(), made.before);
    if (engine !== "sqlite") {
      const words = ["apply", ...at, ...made.writer, ...nova, "--watch", "0", "--yes", "-q"];
      await refused(words, 12, "N2I-E206", [/instance_type_extra_specs/]);
      assert.deepEqual(await made.now(), made.before);
    }
    await ends(0, act(["apply"]));
    const loaded = await made.now();
    await runs(0, ["verify", ...at, ...reader, ...nova, "-q"]);
    const shown = await runs(0, ["rollback", ...at, ...reader, "--all", "--plan", "-f", "csv"]);
    assert.equal(shown.out.match(/^"?leave"?,.*--nova-db is not given/gm)?.length, 15);
    const would = [...at, ...reader, ...nova, "--all", "--plan", "-f", "csv"];
    const both = await runs(0, ["rollback", ...would]);
    assert.equal(both.out.match(/^"?restore/gm)?.length, 15);
    assert.deepEqual(await made.now(), loaded);
  });

for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, neither a password nor a row that nova's server quotes is repeated or kept`, async (t) => {
    const { nova, novaWriter, act, run: folder } = await plannedCloud(engine, t);
    await nova.db("instances").where({ id: 1 }).update({ user_data: SECRET });
    const drop = await refuseLoudly(nova, "UPDATE", "instances", "NEW.user_data");
    const url = readFileSync((novaWriter[1] ?? "").slice("file:".length), "utf8");
    const [, password = ""] = /:\/\/[^:]+:([^@]+)@/.exec(url) ?? [];
    assert.ok(password.length > 8);
    // The first time flavors and machines are kept; later ones keep nothing more.
    for (const [voice, status, code] of [
      [[], 5, /N2I-E301/],
      [["--debug"], 1, /N2I-E207/],
      [["--json"], 1, /N2I-E207/],
    ] as const) {
      const ran = await act(["apply", ...voice]);
      assert.equal(ran.status, status, ran.err);
      assert.match(ran.err, code);
      const kept = [planWords(folder), readFileSync(`${folder}/journal.jsonl`, "utf8")];
      for (const text of [ran.out, ran.err, ...kept])
        assert.ok(!text.includes(SECRET) && !text.includes(password));
    }
    await drop();
    await ends(0, act(["apply"]));
  });

testOnce("plan, apply and their options say no when they do not fit each other", async (t) => {
  const { at, reader, writer, novaWriter, source, plan } = await plannedCloud("sqlite", t);
  const nova = source.slice(2, 4);
  const planning = ["plan", ...at, ...reader, ...plan, "-q"];
  for (const [words, text] of [
    [["--compute-host", "x"], /--compute-host needs --nova-db/],
    [[...nova, "--deploy-kernel", "x"], /wanted together/],
    [[...nova, "--flavor-images", "delete", "--deploy-kernel", "x"], /takes no images/],
    [[...nova, "--compute-host", "nobody:x=y"], /not understood/],
    [[...nova, "--compute-host", ""], /not understood/],
  ] as const)
    await refused([...planning, ...words], 64, "N2I-E100", [text]);
  await refused([...planning, "--nova-db", source[1] ?? ""], 4, "N2I-E202", [/nova database/]);
  const applying = ["apply", ...at, ...writer, "--yes", "-q"];
  const without = [...applying, "--without", "nova-db"];
  await refused(without, 4, "N2I-E311", [], { bare: true });
  await refused([...applying, ...novaWriter, "--leave-nova"], 64, "N2I-E100");
  await ends(3, run([...applying, "--leave-nova"]));
  await runs(0, [...planning]);
  await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
  await refused([...applying, ...novaWriter], 4, "N2I-E114");
});
