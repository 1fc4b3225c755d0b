import assert from "node:assert/strict";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { MigrationError } from "../../../src/lib/error.ts";
import { askNumber } from "../../../src/systems/database/rows.ts";
import { lockTarget } from "../../../src/systems/database/target-lock.ts";
import { writing } from "../../../src/systems/database/write.ts";
import { needs } from "../../lab/index.ts";
import { portOf } from "../../support/listening.ts";
import { openedAt } from "../../support/opened.ts";
import { type Change, proxyTo } from "../../support/proxy.ts";

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a lock whose client is gone without a word names its session, and ends soon`, async (t) => {
    const server = await needs(engine);
    const line = await proxyTo(server.port, t);
    const home = server.url(engine === "mysql" ? "mysql" : "postgres");
    const patience = { limit: 60_000, report: () => {} };
    const gone = await openedAt(home.replace(`:${server.port}/`, `:${line.port}/`), t, {
      readOnly: false,
      timeout: patience,
    });
    const other = await openedAt(home, t, { readOnly: false });
    const held = await lockTarget(gone);
    const refused = await lockTarget(other).catch((error: unknown) => error);
    assert.ok(refused instanceof MigrationError);
    assert.equal(refused.code, "N2I-E302");
    const pattern = /in session \d+ of the server from .+, last active at \d{4}-.+ UTC/;
    assert.match(refused.message, pattern);
    const says = engine === "mysql" ? /: KILL \d+;/ : /pg_terminate_backend\(\d+\);/;
    assert.match(refused.fix ?? "", says);
    await held.release();
    await lockTarget(gone, 2);
    line.lose();
    for (;;) {
      const lock = await lockTarget(other).catch(() => null);
      if (lock !== null) return void (await lock.release());
    }
  });

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, the session of a lock asks something from time to time, and less often than it is ended`, async (t) => {
    const server = await needs(engine);
    const home = server.url(engine === "mysql" ? "mysql" : "postgres");
    const database = await openedAt(home, t, { readOnly: false });
    t.mock.timers.enable({ apis: ["setInterval"] });
    const lock = await lockTarget(database, 40);
    let asked = 0;
    database.knex.on("query-response", () => {
      asked += 1;
    });
    t.mock.timers.tick(39_000);
    while (asked < 3) await turn();
    await lock.check();
    await lock.release();
    t.mock.timers.tick(39_000);
    assert.equal(asked, 5, "three times, by check and by release");
  });

/** Longer than the guard of a file: only who gives up goes on. */
const SLEEP = { mysql: "SELECT SLEEP(9999)", postgresql: "SELECT pg_sleep(9999)" };
const LONG = 60_000;
const SHORT = 1000;

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a server that falls silent is told of, then given up, at every moment`, async (t) => {
    const server = await needs(engine);
    const line = await proxyTo(server.port, t);
    const home = engine === "mysql" ? "mysql" : "postgres";
    const url = server.url(home).replace(`:${server.port}/`, `:${line.port}/`);
    const told: string[] = [];
    // Short only for what gets no answer: a busy server may be slow over the rest.
    const patience = { limit: LONG, report: (text: string) => void told.push(text) };
    const open = () => openedAt(url, t, { readOnly: false, timeout: patience });
    const unanswered = async (code: string, work: () => Promise<unknown>): Promise<void> => {
      patience.limit = SHORT;
      await assert.rejects(work(), { code });
      patience.limit = LONG;
    };

    const hung = await open();
    await unanswered("N2I-E216", () => hung.run("hanging", () => hung.knex.raw(SLEEP[engine])));
    assert.match(told.join(), /^No answer from .* for 0.5 s\. The connection is closed after 1 s/);
    await hung.close();

    const committing = await open();
    await assert.rejects(
      writing(committing, async (trx) => {
        await trx.raw("SELECT 1");
        line.silence();
        patience.limit = SHORT;
      }),
      { code: "N2I-E217" },
    );
    await unanswered("N2I-E200", open);
    await committing.close();
    line.fix();
    await open();
  });

/** Opens a database through a proxy; in `heard`, what the server was told. */
async function through(t: TestContext, engine: "mysql" | "postgresql", change: Change) {
  const server = await needs(engine);
  const heard: Buffer[] = [];
  const line = await proxyTo(server.port, t, (bytes, to) => {
    const changed = change(bytes, to);
    if (to === "server" && changed !== null) heard.push(changed);
    return changed;
  });
  const url = server.url(engine === "mysql" ? "mysql" : "postgres");
  const opening = openedAt(url.replace(`:${server.port}/`, `:${line.port}/`), t);
  return { opening, heard: () => Buffer.concat(heard).toString("latin1") };
}

const replaced =
  (text: RegExp, by: (found: string) => string): Change =>
  (bytes) =>
    Buffer.from(bytes.toString("latin1").replace(text, by), "latin1");

const OF_POSTGRESQL: readonly (readonly [string, Change])[] = [
  ["leaves them out", replaced(/-c nova2ironic.*on/, (found) => " ".repeat(found.length))],
  ["gives a session that another one opened", replaced(/session=../, () => "session=zz")],
  ["sets them itself", replaced(/-c array_nulls=on/, (found) => " ".repeat(found.length))],
];

for (const [name, change] of OF_POSTGRESQL)
  test(`PostgreSQL behind a pooler that ${name} is refused before anything is set`, async (t) => {
    const at = await through(t, "postgresql", change);
    await assert.rejects(at.opening, { code: "N2I-E224" });
    assert.match(at.heard(), /current_setting/);
    assert.doesNotMatch(at.heard(), /SET |set_config/);
  });

test("a pooler that refuses options at login is told for what it is", async (t) => {
  // As pgbouncer 1.18 answers.
  const answer = "SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: options\0\0";
  const size = Buffer.alloc(4);
  size.writeInt32BE(answer.length + 4);
  const pooler = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () =>
      socket.end(Buffer.concat([Buffer.from("E"), size, Buffer.from(answer)])),
    );
  });
  const port = await portOf(t, pooler);
  const opening = openedAt(`postgresql://lab@127.0.0.1:${port}/nova?sslmode=disable`, t);
  await assert.rejects(opening, { code: "N2I-E224" });
});

test("MySQL behind a proxy with sessions of its own is refused before anything is set", async (t) => {
  const at = await through(t, "mysql", (bytes, to) => {
    // The greeting: the protocol's number, the version to a NUL, the session's number.
    if (to === "client" && bytes[3] === 0 && bytes[4] === 10) {
      const number = bytes.indexOf(0, 5) + 1;
      bytes.writeUInt32LE(bytes.readUInt32LE(number) + 1_000_000, number);
    }
    return bytes;
  });
  await assert.rejects(at.opening, { code: "N2I-E224" });
  assert.match(at.heard(), /CONNECTION_ID/);
  assert.doesNotMatch(at.heard(), /SET /);
});

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a balancer that passes on what it is told is none`, async (t) => {
    const at = await through(t, engine, (bytes) => bytes);
    assert.equal(await askNumber(await at.opening, "asking", "SELECT 1"), 1);
  });
