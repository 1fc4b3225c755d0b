import type { AsyncHook, createHook } from "node:async_hooks";
import { createRequire } from "node:module";

const hooks: AsyncHook[] = [];

/**
 * node:test follows every promise of a process to know which test made it, which takes a sixth of the
 * processor. It needs to know that only while test files are loaded, and only if this module is imported
 * before node:test can it be told to stop.
 */
const asyncHooks: { createHook: typeof createHook } = createRequire(import.meta.url)(
  "node:async_hooks",
);
const original = asyncHooks.createHook;
asyncHooks.createHook = (callbacks) => {
  const hook = original(callbacks);
  hooks.push(hook);
  return hook;
};

/** Ends the following of promises. Tests that are made afterwards belong to no suite. */
export function untrack(): void {
  asyncHooks.createHook = original;
  for (const hook of hooks) hook.disable();
}
