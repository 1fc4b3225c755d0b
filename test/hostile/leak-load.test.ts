import assert from "node:assert/strict";
import { test } from "node:test";
import { engines } from "../lab/engines.ts";
import { canary, finder, search } from "./canaries.ts";
import { assertRefusal, type Ran, start } from "./cli.ts";
import { digest } from "./digest.ts";
import { deploySecrets, type Secrets } from "./secrets-case.ts";

/** Every way to be told of an error. */
const VOICES = [["-q"], ["-q", "--debug"], ["-q", "--json"]];

async function planned(made: Secrets): Promise<void> {
  const { at, source, reader, plan } = made;
  for (const words of [
    ["extract", ...at, ...source],
    ["plan", ...at, ...reader, ...plan],
  ]) {
    const ran = await made.tried(words);
    assert.equal(ran.status, 0, ran.err);
  }
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

/** A trigger that refuses the row and quotes it, as an auditing one may. */
async function refuseLoudly({ engine, ironic: { db } }: Secrets): Promise<void> {
  if (engine === "sqlite")
    return db.raw(
      "CREATE TRIGGER loud BEFORE INSERT ON nodes BEGIN SELECT RAISE(ABORT, 'no more nodes'); END",
    );
  if (engine === "mysql")
    return db.raw(
      "CREATE TRIGGER loud BEFORE INSERT ON nodes FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = NEW.driver_info",
    );
  await db.raw(
    `CREATE FUNCTION loud() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
     RAISE EXCEPTION 'no: %', NEW.driver_info USING DETAIL = NEW.driver_info, HINT = NEW.driver_info; END $$`,
  );
  await db.raw("CREATE TRIGGER loud BEFORE INSERT ON nodes FOR EACH ROW EXECUTE FUNCTION loud()");
}

for (const engine of engines()) {
  test(`on ${engine}, a server that quotes the row it refuses is not repeated`, async (t) => {
    const made = await deploySecrets(engine, t);
    await planned(made);
    await refuseLoudly(made);
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
      const paused = start([...words, "--debug"], {
        env: { ...made.env, NOVA2IRONIC_FAILPOINT: "begin.after:1:pause" },
      });
      await paused.said("failpoint begin.after");
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
    const paused = start([...words, "--debug"], {
      env: { ...made.env, NOVA2IRONIC_FAILPOINT: "commit.before:1:pause" },
    });
    await paused.said("failpoint commit.before");
    await cut(made);
    paused.signal("SIGUSR2");
    const ran = await paused.ended;
    assert.equal(ran.status, 5, ran.err);
    assert.match(ran.err, /^ERROR N2I-E301 .*N2I-E2(00|17)/m);
    assertSilent(made, ran, words);
    assert.equal(await digest(made.ironic), before);
    const again = await made.tried(words);
    assert.equal(again.status, 3, again.err);
    assert.deepEqual(again.leaks, []);
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
