import { MigrationError } from "../../../lib/error.ts";
import { camel } from "../../../run/next.ts";
import { HOST_ACTIONS } from "../../options/host/actions.ts";
import type { HostArgs } from "../../options/host/host.ts";
import { onlyOptions } from "../said.ts";

type Work = (args: never) => Promise<void>;

/** What each word of `host` does, loaded when it is said. */
const WORK: { readonly [action in HostArgs["action"]]: () => Promise<Work> } = {
  list: async () => (await import("./list.ts")).hostListCommand,
  plan: async () => (await import("./plan.ts")).hostPlanCommand,
  move: async () => (await import("./move.ts")).hostMoveCommand,
  agent: async () => (await import("./agent.ts")).hostAgentCommand,
  schema: async () => (await import("./schema.ts")).hostSchemaCommand,
  takeover: async () => (await import("./takeover.ts")).hostTakeoverCommand,
  readmit: async () => (await import("./readmit.ts")).hostReadmitCommand,
  verify: async () => (await import("../verify.ts")).verifyHostsCommand,
};

export async function hostCommand(args: HostArgs): Promise<void> {
  checkAction(args);
  const work = await WORK[args.action]();
  await work(args as never); // as the action's own table declares them
}

/** @throws MigrationError N2I-E100 for an option that the action has not, or that it misses */
function checkAction({ action, ...args }: HostArgs): void {
  const { needs, options } = HOST_ACTIONS[action];
  onlyOptions(`host ${action}`, options);
  const given = new Map<string, unknown>(Object.entries(args));
  const missing: string | undefined = needs.find((name) => given.get(camel(name)) === undefined);
  if (missing === undefined) return;
  throw new MigrationError(
    "N2I-E100",
    missing === "compute"
      ? `host ${action} wants the name of a host`
      : `host ${action} wants --${missing}`,
  );
}
