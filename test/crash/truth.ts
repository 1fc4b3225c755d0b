import assert from "node:assert/strict";
import { readJournal } from "../../src/run/files/journal.ts";
import type { Ran, Started } from "../hostile/cli.ts";
import type { Scene } from "../support/scene.ts";
import { type Point, rowsOf } from "./points.ts";

export async function ends(status: number, started: Started | Promise<Ran>): Promise<Ran> {
  const ran = await ("ended" in started ? started.ended : started);
  assert.equal(ran.status, status, `exit ${ran.status}\n${ran.out}${ran.err}`);
  return ran;
}

export async function killedAt(
  { start, connections }: Scene,
  point: string,
  command: string,
  options: readonly string[],
): Promise<void> {
  const { status, out, err } = await start(command, options, `${point}:kill`).ended;
  // 128: ended by a signal, and SIGKILL is the only one sent.
  assert.equal(status, 128, `${command} went past ${point}\n${out}${err}`);
  await connections.gone();
}

export async function statusOf(scene: Scene) {
  const { out, err } = await ends(0, scene.does("status", ["-f", "json"]));
  // The form of `-f json`; what it says is asserted.
  const fields = JSON.parse(out) as { readonly apply: string };
  const { apply } = fields;
  return { apply, next: err.match(/Next: (.*)/)?.[1] ?? "" };
}

/** Rows of the fleet in Ironic; what Ironic held before does not count. */
export async function loadedRows({ sql }: Scene): Promise<number> {
  return sql(async (db) => {
    const counts = await Promise.all(
      ["nodes", "ports"].map((table) => db(table).count({ n: "*" }).first()),
    );
    return counts.reduce((sum, row) => sum + Number(row?.n) - 1, 0);
  });
}

/** Whether the commands are asked too what is true: what they say of the journal is the same on every engine. */
export function isRequested({ engine }: Scene): boolean {
  return engine === "sqlite";
}

/**
 * The target, the journal and, where they are asked, the commands say no more and no less than
 * what happened up to the point.
 */
export async function tellsTheTruth(scene: Scene, point: Point): Promise<void> {
  assert.equal(await loadedRows(scene), rowsOf(point.kept));
  const { entries } = await readJournal({ path: scene.run });
  const count = (what: string): number => entries.filter((entry) => entry.do === what).length;
  assert.equal(count("done"), point.recorded);
  assert.equal(count("begin"), point.recorded + (point.open ? 1 : 0));
  if (!isRequested(scene)) return;
  const { apply, next } = await statusOf(scene);
  if (point.recorded === 0 && !point.open) assert.equal(apply, "nothing was loaded");
  else {
    assert.match(
      apply,
      new RegExp(
        `: ${rowsOf(point.recorded)} rows created in ${point.recorded} batch(es)?${point.open ? ", 1 batch begun and not recorded as done" : ""}$`,
      ),
    );
  }
  assert.match(next, / apply /);
}
