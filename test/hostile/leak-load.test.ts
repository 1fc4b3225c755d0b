import assert from "node:assert/strict";
import { test } from "node:test";
import { engines } from "../lab/engines.ts";
import { canary, finder, search } from "./canaries.ts";
import { assertRefusal, pausedAt, type Ran } from "./cli.ts";
import { digest } from "./digest.ts";
import { refuseLoudly } from "./loud.ts";
import { deploySecrets, type Secrets } from "./secrets-case.ts";

/** Every way to be told of an error. */
const VOICES = [["-q"], ["-q", "--debug"], ["-q", "--json"]];

async function planned(made: Secrets): Promise<void> {
  const { at, source, reader, plan, silently } = made;
  await silently(0, ["extract", ...at, ...source]);
  await silently(0, ["plan", ...at, ...reader, ...plan]);
}

/** Nothing of the secrets in what was said and kept, and nothing said in a way of its own. */
function assertSilent(made: Secrets, ran: Ran, words: readonly string[]): void {
  assert.deepEqual(
    search(finder(made.canaries), ran, [`${made.folder}/runs`, made.env.HOME ?? ""]),
    [],
  );
  if (words.includes("--json"))
    for (const line of ran.err.trimEnd().split("\n"))
      assert.doesNotThrow(() => JSON.parse(line), line);
}

for (const engine of engines()) {
  test(`on ${engine}, a server that quotes the row it refuses is not repeated`, async (t) => {
    const made = await deploySecrets(engine, t);
    await planned(made);
    await refuseLoudly(made.ironic, "INSERT", "nodes", "NEW.driver_info");
    const before = await digest(made.ironic);
    for (const voice of VOICES) {
      const words = ["apply", ...made.at, ...made.writer, "--yes", "--skip-blocked", ...voice];
      const { leaks, ...ran } = await made.tried(words);
      assert.deepEqual(leaks, []);
      assertSilent(made, ran, words);
      if (voice.length === 1) assertRefusal(ran, 1, "N2I-E207", /writing nodes/);
    }
    assert.equal(await digest(made.ironic), before);
  });

  test(`on ${engine}, a duplicate key that only the server sees is refused without the row's values`, async (t) => {
    const made = await deploySecrets(engine, t);
    await planned(made);
    await made.ironic.db.raw("CREATE UNIQUE INDEX one_of_each ON nodes (driver)");
    const before = await digest(made.ironic);
    const words = ["apply", ...made.at, ...made.writer, "--yes", "--skip-blocked", "-q"];
    const { leaks, ...ran } = await made.tried(words);
    assert.deepEqual(leaks, []);
    assertRefusal(ran, 4, "N2I-E300", /writing nodes: .*(ER_DUP_ENTRY|23505|SQLITE_CONSTRAINT)/);
    assert.equal(await digest(made.ironic), before);
  });

  test(`on ${engine}, another's row that appears during the load is refused without the row's values`, async (t) => {
    const made = await deploySecrets(engine, t);
    await planned(made);
    for (const [place, column] of [
      ["instance_uuid", "b0000000-0000-4000-8000-000000000001"],
      ["uuid", "a0000000-0000-4000-8000-000000000002"],
    ] as const) {
      const words = ["apply", ...made.at, ...made.writer, "--yes", "--skip-blocked", "-q"];
      const paused = await pausedAt("begin.after:1", [...words, "--debug"], made.env);
      const other = made.watch(canary(`password of the other by ${place}`));
      await made.ironic.db("nodes").insert({
        uuid: "f0000000-0000-4000-8000-000000000099",
        driver: "fake",
        driver_info: JSON.stringify({ ipmi_password: other.text }),
        [place]: column,
      });
      const before = await digest(made.ironic);
      paused.signal("SIGUSR2");
      const ran = await paused.ended;
      assert.match(ran.err, /^ERROR N2I-E300 /m);
      assertSilent(made, ran, words);
      assert.equal(await digest(made.ironic), before);
      await made.ironic
        .db("nodes")
        .where({ [place]: column })
        .delete();
    }
  });
}

for (const engine of engines("mysql", "postgresql")) {
  test(`on ${engine}, a connection cut before the commit leaves nothing, and no secret in the error`, async (t) => {
    const made = await deploySecrets(engine, t);
    await planned(made);
    const before = await digest(made.ironic);
    const words = ["apply", ...made.at, ...made.writer, "--yes", "--skip-blocked", "-q"];
    const paused = await pausedAt("commit.before:1", [...words, "--debug"], made.env);
    await cut(made);
    paused.signal("SIGUSR2");
    const ran = await paused.ended;
    assert.equal(ran.status, 5, ran.err);
    assert.match(ran.err, /^ERROR N2I-E301 .*N2I-E2(00|17)/m);
    assertSilent(made, ran, words);
    assert.equal(await digest(made.ironic), before);
    await made.silently(3, words);
  });
}

/** Ends every connection of the user who writes. */
async function cut({ engine, ironic: { db }, users }: Secrets): Promise<void> {
  if (engine === "mysql") await db.raw(`KILL USER '${users.writer}'@'127.0.0.1'`);
  else
    await db.raw("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = ?", [
      users.writer ?? "",
    ]);
}
