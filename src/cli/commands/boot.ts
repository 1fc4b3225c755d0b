import { stumbles } from "../../core/boot/served.ts";
import { openTrees, readLink, readText, sizeOf } from "../../edge/tftp/tree.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import { isLoaded, type PlannedMachine } from "../../model/plan.ts";
import { askedOf, type Place } from "../../parts/boot-files.ts";
import { type BootRow, previewStaging, stageAll, unstageAll } from "../../stages/boot.ts";
import { wantedOf } from "../../stages/named.ts";
import { nextCommand } from "../../stages/next.ts";
import { inRun, openPlan, PLAN, sealOf } from "../../stages/run.ts";
import { confirm } from "../confirm.ts";
import type { BootArgs } from "../options/boot.ts";
import { printView } from "../print/view.ts";
import { noteTakeOver, sayDhcp } from "./boot-notices.ts";
import { exitWith, inStage, say, told } from "./shared.ts";

export async function bootCommand(args: BootArgs): Promise<void> {
  if (Array.isArray(args.tftpRoot))
    throw new MigrationError("N2I-E100", "--tftp-root is given more than once");
  if (Number(args.plan) + Number(args.verify) + Number(args.undo) > 1)
    throw new MigrationError("N2I-E100", "--plan, --verify and --undo exclude each other");
  await inRun(args.run, "boot", { create: false }, async (run) => {
    const [tree] = await openTrees([`*=${args.tftpRoot}`], "--tftp-root");
    if (tree === undefined) throw new Error("one tree was asked for");
    const from = await openTrees(args.from ?? [], "--from");
    const place = { tree, from, served: servedOf(args, tree.root) };
    const plan = await openPlan(`${run.path}/${PLAN}`);
    const wanted = await wantedOf(args.node ?? [], plan.lines);
    const lines = () => chosen(plan.lines(), wanted);
    const { machines } = plan.footer.footer;
    if (!args.undo) await noteTakeOver(plan.header.target.release, args);
    if (args.verify) return verify(lines(), place, args);
    if (args.plan) return tell(await previewStaging(lines(), place), args, "Plan");
    const seal = await sealOf(run, args.keyFile, plan.header.key);
    await confirm(
      `${args.undo ? "Take back boot files in" : "Stage boot files in"} ${tree.root}?`,
      args.yes,
    );
    const nodes = new Set<string>();
    for await (const batch of lines())
      for (const { uuid } of batch) nodes.add(uuid?.toLowerCase() ?? "");
    const { rows, stopped, elsewhere } = await inStage(
      args.undo ? "unstage" : "stage",
      machines,
      args,
      (at) =>
        args.undo
          ? unstageAll(run, place, seal, (node) => args.node === undefined || nodes.has(node), at)
          : stageAll(run, lines(), place, seal, at),
      (made) => `${made.rows.length} machines`,
    );
    if (stopped) say(args, "Stopped on request; run the same command to go on.");
    await tell(rows, args, args.undo ? "Undo" : "Boot");
    if (elsewhere.length > 0)
      say(args, `This run staged boot files in other trees too: ${elsewhere.join(", ")}`);
    if (!args.undo) await sayDhcp(lines(), args);
    const again = (more: object): string => nextCommand("boot", args, more);
    const after = `Next: ${again({ verify: true })}\nUndo: ${again({ undo: true })}`;
    say(args, args.undo ? `Next: ${again({})}` : after);
  });
}

/**
 * The tree's root as configurations name it: pxelinux ends a path at a blank and a line at its end.
 *
 * @throws MigrationError N2I-E100
 */
function servedOf({ servedAs, verify, undo }: BootArgs, root: string): string {
  const served = servedAs ?? root;
  if (/^\/[!-~]*$/.test(served) || (servedAs === undefined && (verify || undo))) return served;
  throw new MigrationError(
    "N2I-E100",
    servedAs === undefined
      ? "the path of --tftp-root cannot stand in a boot file; --served-as says how to name it there"
      : "--served-as wants an absolute path without blanks, in ASCII",
  );
}

async function* chosen(
  plan: AsyncIterable<readonly PlannedMachine[]>,
  wanted: (machine: PlannedMachine) => boolean,
): AsyncGenerator<readonly PlannedMachine[]> {
  for await (const batch of plan) yield batch.filter(wanted);
}

/** Machines with something to do or to say, and a summary; left ones end with their status. */
async function tell(rows: readonly BootRow[], args: BootArgs, title: string): Promise<void> {
  const count = (state: BootRow["state"]): number =>
    rows.filter((row) => row.state === state).length;
  const listed = rows.filter(({ state }) => state !== "ready");
  if (listed.length > 0 || args.format !== "table")
    await printView(
      {
        columns: ["UUID", "State", "Changes", "Why"],
        rows: listed.map(({ uuid, state, changes, why }) => [uuid, state, changes.join(" "), why]),
      },
      args,
    );
  const states = ["ready", "to stage", "staged", "undone", "stumbles", "left"] as const;
  const words = states.flatMap((state) => (count(state) > 0 ? [`${count(state)} ${state}`] : []));
  const none = args.undo
    ? "nothing of this run is staged there"
    : "no machine has a tenant to boot";
  const summary = `${title}: ${words.join(", ") || none}.`;
  told(args, summary);
  if (count("stumbles") > 0 || (args.undo && count("left") > 0))
    exitWith(EXIT_STATUS.differs.status);
  else if (count("left") > 0 && !args.plan) exitWith(EXIT_STATUS.partial.status);
}

async function verify(
  plan: AsyncIterable<readonly PlannedMachine[]>,
  { tree, served }: Place,
  args: BootArgs,
): Promise<void> {
  const server = {
    link: (path: string) => readLink(tree, path),
    size: (path: string) => sizeOf(tree, path),
    text: async (path: string) => {
      const content = await readText(tree, path);
      return content.kind === "text" ? content.text : null;
    },
  };
  const rows: BootRow[] = [];
  for await (const batch of plan)
    for (const machine of batch.filter(isLoaded)) {
      const asked = askedOf(machine);
      if (asked === null) continue;
      const wrong =
        "why" in asked ? [asked.why] : await stumbles(asked.wanted, server, [served, tree.root]);
      const broken = "why" in asked ? "left" : "stumbles";
      rows.push({
        ...{ uuid: machine.uuid ?? "", bm_node_id: machine.bm_node_id, changes: [] },
        state: wrong.length > 0 ? broken : "ready",
        why: wrong.join("; ") || null,
      });
    }
  if (rows.length === 0)
    throw new MigrationError(
      "N2I-E326",
      "no machine of the plan, or of those named, has a tenant that boots from this tree",
    );
  await tell(rows, args, "Verify");
}
