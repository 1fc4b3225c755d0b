import assert from "node:assert/strict";
import { test } from "node:test";
import { engines } from "../lab/engines.ts";
import { quickSessions } from "../support/quick-sessions.ts";
import { runs } from "./cli.ts";
import { countersOf } from "./counters.ts";
import { digests, filesOf } from "./digest.ts";
import { type Whole, whole } from "./whole.ts";

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
    // What differs on servers is told by the second round.
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
