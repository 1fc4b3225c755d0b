import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readDatabaseAddress } from "../../../src/edge/config/database-address.ts";
import { openDatabase } from "../../../src/edge/database/open.ts";
import { writing } from "../../../src/edge/database/write.ts";
import { privateFolder } from "../../hostile/deployment.ts";
import { needs } from "../../lab/index.ts";
import { proxyTo } from "../../support/proxy.ts";

const LIMIT = 400;
/** Milliseconds within which all is said and closed, on a busy machine. */
const SOON = 8000;

const SLEEP = { mysql: "SELECT SLEEP(30)", postgresql: "SELECT pg_sleep(30)" };

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a server that falls silent is told of, then given up, at every moment`, async (t) => {
    const server = await needs(engine);
    const line = await proxyTo(server.port, t);
    const home = engine === "mysql" ? "mysql" : "postgres";
    const file = join(privateFolder(t), "url");
    writeFileSync(file, server.url(home).replace(`:${server.port}/`, `:${line.port}/`), {
      mode: 0o600,
    });
    const role = { option: "--db", section: "database", key: "connection" };
    const address = await readDatabaseAddress(`file:${file}`, role, {});
    const told: string[] = [];
    const patience = { limit: LIMIT, tell: (text: string) => void told.push(text) };
    const open = () => openDatabase(address, { readOnly: false, patience });
    const unanswered = async (code: string, work: () => Promise<unknown>): Promise<void> => {
      const begun = Date.now();
      await assert.rejects(work(), { code });
      assert.ok(Date.now() - begun < SOON);
    };

    const patient = { limit: 20_000, tell: () => {} };
    const slow = await openDatabase(address, { readOnly: true, patience: patient });
    await slow.run("waiting", () => slow.knex.raw(SLEEP[engine].replace("30", "1")));
    await slow.close();

    const hung = await openDatabase(address, {
      readOnly: true,
      patience: { ...patience, limit: 3000 },
    });
    await unanswered("N2I-E216", () => hung.run("hanging", () => hung.knex.raw(SLEEP[engine])));
    assert.match(told.join(), /^No answer from .* for 1.5 s; it is given up after 3 s/);
    await hung.close();

    const committing = await openDatabase(address, {
      readOnly: false,
      patience: { ...patience, limit: 3000 },
    });
    await unanswered("N2I-E217", () =>
      writing(committing, async (trx) => {
        await trx.raw("SELECT 1");
        line.silence();
      }),
    );
    await unanswered("N2I-E200", open);
    const begun = Date.now();
    await committing.close();
    assert.ok(Date.now() - begun < SOON);
    line.fix();
    await (await openDatabase(address, { readOnly: true })).close();
  });
