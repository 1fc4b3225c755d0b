import { shellArgument } from "../../lib/text.ts";
import { nextCommand, pick, TREE } from "../../run/next.ts";
import { io } from "../io.ts";

type RunArgument = { readonly run: string };

const ALL = { allRows: true };
const SCOPE: readonly string[] = ["all", "node", "leave-nova"];

/** Commands for complete lists. They write nothing, so a list never needs a command that writes. */
export const EVERY = {
  show: ({ file, nova }: { readonly file: string; readonly nova: boolean }) =>
    `nova2ironic show ${shellArgument(file)}${nova ? " --nova" : ""} --all-rows`,
  plan: ({ run }: RunArgument) => EVERY.show({ file: `${run}/plan`, nova: false }),
  power: ({ run }: RunArgument) => EVERY.show({ file: `${run}/power.jsonl`, nova: false }),
  // `--all-rows` of verify also lists equal rows.
  verify: (args: RunArgument & { readonly takeover?: boolean }) =>
    nextCommand("verify", args, {
      ...pick(args, ["takeover", "final"]),
      match: args.takeover === true ? "State=*" : "Result=*",
    }),
  handover: (args: RunArgument) =>
    nextCommand("verify", args, { takeover: true, match: "State=*" }),
  finish: (args: RunArgument & { readonly undo: boolean }) =>
    nextCommand("finish", args, { ...pick(args, ["node", "undo"]), plan: true, ...ALL }),
  boot: (args: RunArgument & { readonly plan: boolean }) =>
    nextCommand("boot", args, { ...pick(args, [...TREE, "plan"]), verify: !args.plan, ...ALL }),
  rollback: (args: RunArgument & { readonly all: boolean; readonly leaveNova: boolean }) =>
    nextCommand("rollback", args, { ...pick(args, SCOPE), plan: true, ...ALL }),
  /** The same command line, for a command without a run. */
  same: () => ["nova2ironic", ...io().argv.map(shellArgument), "--all-rows"].join(" "),
} as const;
