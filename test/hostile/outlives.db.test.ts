import assert from "node:assert/strict";
import { Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import type { Timers } from "../../src/lib/ipmi/index.ts";
import { connectionsOf } from "../support/connections.ts";
import { runHere } from "../support/in-process.ts";
import { run, runs, start } from "./cli.ts";
import { plannedWhole, type Whole, whole, wholeCase } from "./whole.ts";

/** How many of each kind keep a process alive: sockets, timers, files. */
function alive(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo())
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Waits until nothing is alive that was not before. The guard of this file ends a hang. */
async function letsGo(before: ReadonlyMap<string, number>): Promise<void> {
  const left = (): readonly string[] =>
    [...alive()].filter(([kind, n]) => n > (before.get(kind) ?? 0)).map(([kind]) => kind);
  // The timer keeps this process alive: without it, the process could end during the test.
  while (left().length > 0) await sleep(20);
}

/** Runs a command that is refused, and fails when it would keep its process behind what it said. */
async function ends(words: readonly string[], code: RegExp): Promise<void> {
  const before = alive();
  const ran = await run(words);
  assert.match(ran.err, code, `${words.join(" ")}\n${ran.out}${ran.err}`);
  await letsGo(before);
}

/** Runs a command that is refused in a process of its own, and waits for the end of the process. */
async function endsItself(words: readonly string[], code: RegExp): Promise<void> {
  const ran = await start(words).ended;
  assert.match(ran.err, code, `${words.join(" ")}\n${ran.out}${ran.err}`);
}

type Refused = readonly [RegExp, readonly string[]];

/** Refusals before a load that come while every database it was given is open. */
function refusals(made: Whole): readonly Refused[] {
  const { at, planning, reader, writer, novaReader, novaWriter, source } = made;
  const both = [...writer, ...novaWriter];
  return [
    [/N2I-E205/, [...planning, "--allow-pairing=false"]],
    [/N2I-E107/, [...planning, "--compute-host", "compute-9=x"]],
    [/N2I-E107/, [...planning, "--flavor", "none of them"]],
    [/N2I-E208/, [...planning, "--ironic-release", "juno"]],
    [/N2I-E/, [...planning, "--diff", "nobody"]],
    [/N2I-E202/, swap(planning, reader[1], source[3])],
    [/N2I-E202/, swap(planning, novaReader[1], source[1])],
    [/N2I-E303/, ["apply", ...at, ...both]],
    [/N2I-E202/, ["apply", ...at, ...swap(both, novaWriter[1], writer[1]), "--yes"]],
    [/N2I-E202/, ["apply", ...at, ...swap(both, writer[1], novaWriter[1]), "--yes"]],
    [/N2I-E320/, ["finish", ...at, ...writer, "--yes"]],
  ];
}

function later(made: Whole): readonly Refused[] {
  const { at, reader, writer, novaWriter, check, source } = made;
  const both = [...writer, ...novaWriter];
  return [
    [/N2I-E303/, ["rollback", ...at, ...both, "--all"]],
    [/N2I-E306/, ["rollback", ...at, ...both, "--node", "nobody", "--yes"]],
    [/N2I-E202/, ["rollback", ...at, ...swap(both, writer[1], novaWriter[1]), "--all", "--yes"]],
    [/N2I-E202/, ["verify", ...at, ...reader, "--nova-db", source[1] ?? ""]],
    [/N2I-E306/, ["handover", ...at, ...writer, "--node", "nobody", "--yes"]],
    [/N2I-E303/, ["finish", ...at, ...writer]],
    [/N2I-E306/, ["finish", ...at, ...writer, "--undo", "--node", "nobody", "--yes"]],
    [/N2I-E202/, ["finish", ...at, ...swap(writer, writer[1], source[1]), "--yes"]],
    [/N2I-E/, swap(check, source[3], "file:/nowhere")],
  ];
}

function swap(words: readonly string[], from: string | undefined, to: string | undefined) {
  return words.map((word) => (word === from ? String(to) : word));
}

for (const engine of ["mysql", "postgresql"] as const)
  test(`no command outlives its refusal on ${engine}`, async (t) => {
    const made = await plannedWhole(engine, t, wholeCase());
    for (const [code, words] of refusals(made)) await ends([...words, "-q"], code);
    for (const [code, words] of refusals(made).slice(-2)) await endsItself([...words, "-q"], code);
    await runs(0, ["apply", ...made.at, ...made.writer, ...made.novaWriter, "--yes", "-q"]);
    for (const [code, words] of later(made)) await ends([...words, "-q"], code);
    for (const [code, words] of later(made).slice(0, 2)) await endsItself([...words, "-q"], code);
  });

test("no command outlives a statement that its server refuses", async (t) => {
  const made = await plannedWhole("mysql", t);
  const { at, planning, extract, reader, novaReader, check, users } = made;
  const limit = async (role: string, queries: number): Promise<void> => {
    await made.ironic.db.raw(
      `GRANT USAGE ON *.* TO '${users[role]}'@'127.0.0.1' WITH MAX_QUERIES_PER_HOUR ${queries}`,
    );
    await made.ironic.db.raw("FLUSH USER_RESOURCES");
  };
  for (const [role, words] of [
    ["bm", extract],
    ["nova", extract],
    ["nova", planning],
    ["reader", planning],
    ["reader", check],
    ["nova", check],
    ["nova", ["verify", ...at, ...reader, ...novaReader]],
  ] as const)
    for (const queries of [1, 9, 14]) {
      await limit(role, queries);
      const before = alive();
      const ran = await run([...words, "-q"]);
      assert.doesNotMatch(ran.err, /N2I-E900/, ran.err);
      await letsGo(before);
    }
});

function sockets(): readonly Socket[] {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): unknown[] };
  return handles.call(process).filter((one) => one instanceof Socket);
}

/** Ends the connections of the user who reads nova, on both sides, and returns how many they were. */
async function cut({ nova: { db, server }, users }: Whole): Promise<number> {
  assert.ok(server);
  const open = sockets();
  const count = await connectionsOf(server.engine, users.nova ?? "", (work) => work(db)).kill();
  while (open.filter(({ destroyed }) => destroyed).length < count) await turn();
  return count;
}

const WATCHED = 6000;

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a server that ends connections which wait ends no check`, async (t) => {
    const made = await whole(engine, t);
    await runs(0, [...made.extract, "-q"]);
    const words = made.check.with(made.check.indexOf("0"), String(WATCHED / 1000));
    let ended = 0;
    const clock: Timers = {
      now: () => performance.now(),
      date: () => new Date(),
      after(delay, run) {
        if (delay < WATCHED) {
          const timer = setTimeout(run, delay);
          return () => clearTimeout(timer);
        }
        // The command waits for heartbeats: its connections end, and the wait is over.
        void cut(made).then((count) => {
          ended += count;
          run();
        });
        return () => {};
      },
    };
    const { status, out, err } = await runHere(words, {}, { clock });
    assert.ok(ended > 0, "it waited for its heartbeats by a connection");
    assert.ok([1, 2].includes(status), `${out}${err}`);
    assert.match(out, /Check: nova-compute stopped/);
    assert.doesNotMatch(err, /ERROR/);
  });
