import type { Hooks } from "../../src/model/change.ts";

/** Hooks of a run that has written nothing before. */
export const HOOKS: Hooks = {
  owned: () => false,
  ended: () => false,
  precondition: () => Promise.resolve(),
  observed: () => Promise.resolve(),
};
