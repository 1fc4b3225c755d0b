import { MigrationError } from "../../../lib/error.ts";
import { camel } from "../../../run/next.ts";
import { NODE_ACTIONS } from "../../options/node/actions.ts";
import type { NodeArgs } from "../../options/node/node.ts";
import { onlyOptions } from "../said.ts";

type Work = (args: never) => Promise<void>;

/** What is listed, by the option that says so. */
const LISTS = {
  adoptable: async () => (await import("./adoptable.ts")).adoptableCommand,
  spares: async () => (await import("./spares.ts")).sparesCommand,
} as const;

/** What each word of `node` does, loaded when it is said. */
const WORK: { readonly [action in NodeArgs["action"]]: (args: NodeArgs) => Promise<Work> } = {
  list: (args) => LISTS[listOf(args)](),
  manage: async () => (await import("./manage.ts")).manageCommand,
  unmanage: async () => (await import("./manage.ts")).unmanageCommand,
  switchover: async () => (await import("./switchover.ts")).switchoverCommand,
};

export async function nodeCommand(args: NodeArgs): Promise<void> {
  checkAction(args);
  const work = await WORK[args.action](args);
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
}

/** @throws MigrationError N2I-E100 */
function listOf({ machine, need, identical, ironicDb, ...args }: NodeArgs): keyof typeof LISTS {
  const refuse = (why: string): MigrationError => new MigrationError("N2I-E100", why);
  if (machine !== undefined) throw refuse("node list takes no node");
  const [list, other] = (["adoptable", "spares"] as const).filter((name) => args[name] === true);
  if (list === undefined || other !== undefined)
    throw refuse("node list wants --adoptable or --spares, one of them");
  if (list !== "spares" && (need !== undefined || identical !== undefined))
    throw refuse("--need and --identical are of node list --spares");
  if (list === "spares" && ironicDb !== undefined)
    throw refuse("--ironic-db is of node list --adoptable");
  return list;
}
