import type { Options } from "yargs";

/** For commands that act on machines which Nova manages once a run is finished. */
export const afterFinishOption = {
  "after-finish": {
    type: "boolean",
    default: false,
    describe: "Do it though finish ended this run",
  },
} as const satisfies Record<string, Options>;

export interface AfterFinish {
  readonly afterFinish: boolean;
}
