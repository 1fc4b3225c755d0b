import type { TestContext } from "node:test";
import {
  keepSchemas,
  type Stack,
  type StackOptions,
  startStack,
} from "../../../grenade/lib/stack.ts";

/** Starts a cloud for this test alone. @returns with it what ends more, before the cloud and the last first */
export async function withStack(
  t: Pick<TestContext, "after" | "diagnostic">,
  options: Omit<StackOptions, "engine">,
): Promise<{ readonly stack: Stack; readonly ends: (() => Promise<void> | void)[] }> {
  const ends: (() => Promise<void> | void)[] = [];
  t.after(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  const stack = await startStack({ ...options, engine: "mysql" }, (line) => t.diagnostic(line));
  ends.push(() => keepSchemas("mysql").then(() => undefined), stack.stop);
  return { stack, ends };
}
