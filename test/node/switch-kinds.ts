import assert from "node:assert/strict";
import type { SwitchStepName } from "../../src/model/switching.ts";
import { start } from "../hostile/cli.ts";

/** Every kind of step that Ironic alone has, in its order. */
export const FORTH = [
  ...["switchover-hold", "switchover-destination", "switchover-power", "switchover-maintenance"],
  ...["switchover-unlink", "switchover-volumes", "switchover-fields", "switchover-claim"],
  ...["switchover-deploy", "switchover-allocation", "switchover-clear", "switchover-release"],
] as const satisfies readonly SwitchStepName[];

/** What is in the journal, and what Ironic did of the step: nothing yet, or all. */
export const DEATHS = ["start.after", "end.before"] as const;

/** The command dies there. */
export async function killed(
  asked: readonly string[],
  step: string,
  death: (typeof DEATHS)[number],
): Promise<void> {
  const env = { NOVA2IRONIC_FAILPOINT: `${step}.${death}:1:kill` };
  const died = await start(asked, { env }).ended;
  assert.equal(died.status, 128, `${step} ${death}: ${died.err}`);
}
