import { MigrationError } from "../../model/error.ts";
import { camel } from "../../stages/next.ts";
import type { NodeArgs } from "../options/node.ts";
import { NODE_ACTIONS } from "../options/node-actions.ts";
import { onlyOptions } from "./said.ts";

type Work = (args: never) => Promise<void>;

/** What each word of `node` does, loaded when it is said. */
const WORK: { readonly [action in NodeArgs["action"]]: () => Promise<Work> } = {
  list: async () => (await import("./adoptable.ts")).adoptableCommand,
  manage: async () => (await import("./manage.ts")).manageCommand,
  unmanage: async () => (await import("./manage.ts")).unmanageCommand,
};

export async function nodeCommand(args: NodeArgs): Promise<void> {
  checkAction(args);
  const work = await WORK[args.action]();
  await work(args as never); // as the action's own table declares them
}

/** @throws MigrationError N2I-E100 for an option that the action has not, or that it misses */
function checkAction({ action, ...args }: NodeArgs): void {
  const { needs, options }: { readonly needs: readonly string[]; readonly options: object } =
    NODE_ACTIONS[action];
  onlyOptions(`node ${action}`, options);
  const given = new Map<string, unknown>(Object.entries(args));
  const missing = needs.find((name) => (given.get(camel(name)) ?? false) === false);
  if (missing !== undefined)
    throw new MigrationError(
      "N2I-E100",
      missing === "machine" ? `node ${action} wants a node` : `node ${action} wants --${missing}`,
    );
  if (action === "list" && args.machine !== undefined)
    throw new MigrationError("N2I-E100", "node list takes no node");
}
