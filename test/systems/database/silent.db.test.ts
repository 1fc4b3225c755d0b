import assert from "node:assert/strict";
import { test } from "node:test";
import { writing } from "../../../src/systems/database/write.ts";
import { needs } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";
import { proxyTo } from "../../support/proxy.ts";

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
    const patience = { limit: LONG, tell: (text: string) => void told.push(text) };
    const open = () => openedAt(url, t, { readOnly: false, patience });
    const unanswered = async (code: string, work: () => Promise<unknown>): Promise<void> => {
      patience.limit = SHORT;
      await assert.rejects(work(), { code });
      patience.limit = LONG;
    };

    const hung = await open();
    await unanswered("N2I-E216", () => hung.run("hanging", () => hung.knex.raw(SLEEP[engine])));
    assert.match(told.join(), /^No answer from .* for 0.5 s; it is given up after 1 s/);
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
