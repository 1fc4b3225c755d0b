import assert from "node:assert/strict";
import { run } from "../hostile/cli.ts";
import type { Deployment } from "../hostile/deployment.ts";

/** What each row of the check says: `Success: ...`. Ironic is read by a user who may write. */
export async function checkRows(
  { at, source, writer }: Pick<Deployment, "at" | "source" | "writer">,
  more: readonly string[] = [],
  env: { readonly [name: string]: string } = {},
): Promise<(title: string) => string> {
  const words = ["check", ...at, ...source.slice(0, 4), ...writer, "--watch", "0"];
  const { out, err, status } = await run([...words, "--json", ...more], { env });
  assert.notEqual(status, 255, err);
  const { checks } = JSON.parse(out) as {
    checks: readonly { check: string; result: number; details: string | null }[];
  };
  const of = new Map(checks.map((row) => [row.check, row]));
  return (title) => {
    const row = of.get(title);
    return `${["Success", "Warning", "Failure"][row?.result ?? -1]}: ${row?.details}`;
  };
}
