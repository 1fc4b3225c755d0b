import assert from "node:assert/strict";
import { run } from "../../hostile/cli.ts";
import type { Deployment } from "../../hostile/deployment.ts";

interface Row {
  readonly check: string;
  readonly result: number;
  readonly details: string | null;
}

export async function checked(words: readonly string[], env: Environment = {}) {
  const { out, err, status } = await run([...words, "--json"], { env });
  assert.notEqual(status, 255, err);
  const { checks } = JSON.parse(out) as { readonly checks: readonly Row[] };
  return { status, err, rows: new Map(checks.map((row) => [row.check, row])) };
}

type Environment = { readonly [name: string]: string };

/** What each row of the check says: `Success: ...`. Ironic is read by a user who may write. */
export async function checkRows(
  { at, source, writer }: Pick<Deployment, "at" | "source" | "writer">,
  more: readonly string[] = [],
  env: Environment = {},
): Promise<(title: string) => string> {
  const words = ["check", ...at, ...source.slice(0, 4), ...writer, "--watch", "0", ...more];
  const { rows } = await checked(words, env);
  return (title) => {
    const row = rows.get(title);
    return `${["Success", "Warning", "Failure"][row?.result ?? -1]}: ${row?.details}`;
  };
}

/** Expects a row of check to say so. */
export async function checkSays(
  made: Parameters<typeof checkRows>[0],
  title: string,
  why: RegExp,
  more?: readonly string[],
): Promise<void> {
  assert.match((await checkRows(made, more))(title), why);
}
