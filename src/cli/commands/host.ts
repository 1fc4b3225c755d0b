import { resolve } from "node:path";
import { orNull } from "../../lib/error.ts";
import { counted } from "../../lib/text.ts";
import { STOPPED } from "../../migrate/order.ts";
import { queueText } from "../../model/nova/requests.ts";
import { programCommand } from "../../run/files/package-root.ts";
import { PLAN } from "../../run/files/plan-folder.ts";
import { openRun } from "../../run/files/run-folder.ts";
import { kindOf } from "../../run/files/run-kind.ts";
import { type MovePlan, movesOf } from "../../run/host-files.ts";
import { nextCommand } from "../../run/next.ts";
import type { Sink } from "../../run/sink.ts";
import { refuseOptions } from "../check-options.ts";
import { io } from "../io.ts";
import { AGENT } from "../options/host/actions.ts";
import { printView } from "../print/out.ts";
import { EVERY } from "../views/every-row.ts";
import { hostsText, movesText, movesView, ownersView } from "../views/hosts.ts";
import { type ArgsOf, exitWith, type ListArgs, printLines, sinkOf } from "./shared.ts";

type PlanArgs = ArgsOf<typeof import("../../takeover/host-plan.ts").planMoves>;
type Moved = ReturnType<typeof import("../../takeover/host-moves.ts").moveHosts>;

export const commands = {
  async "host list"(args: ArgsOf<typeof import("../../takeover/host-list.ts").listHosts>) {
    const { listHosts } = await import("../../takeover/host-list.ts");
    const how = { ...args, every: EVERY.same() };
    await listHosts(args, (rows) => printView(ownersView(rows), how));
  },

  async "host plan"(args: PlanArgs) {
    const sink = sinkOf(args);
    checkMode("plan", args.novaBmDb !== undefined);
    const { planMoves } = await import("../../takeover/host-plan.ts");
    const made = await planMoves(args, sinkOf({ ...args, format: "table" }));
    await printMoves(args, sink, made);
    sink.report(
      `Saved ${resolve(args.run, PLAN)} (sha256 ${made.sha256.slice(0, 12)}). Nothing was written to Nova.`,
    );
    if (made.manifest.counts.verdicts.move > 0)
      sink.report(`Next: ${nextCommand("host", args, {}, "move")}`);
  },

  async "host move"(args: PlanArgs) {
    const variant = await variantOf(args.run);
    checkMode("move", variant === "baremetal");
    const { moveHosts } = await import("../../takeover/host-moves.ts");
    const sink = sinkOf(args);
    endOfMove(args, sink, await moveHosts(variant, args, sink));
  },

  async "host schema"(args: ArgsOf<typeof import("../../takeover/leases/schema.ts").leaseSchema>) {
    const { leaseSchema } = await import("../../takeover/leases/schema.ts");
    if (!(await leaseSchema(args, sinkOf(args)))) exitWith("differs");
  },

  async "host agent"(
    args: ArgsOf<typeof import("../../takeover/host-agent.ts").runAgent> & {
      readonly printUnit: boolean;
    },
  ) {
    const sink = sinkOf(args);
    if (!args.printUnit) {
      const { runAgent } = await import("../../takeover/host-agent.ts");
      return runAgent(args, (text) => sink.note(text));
    }
    const values = new Map<string, unknown>(Object.entries(args));
    const argv = Object.keys(AGENT).flatMap((name) => {
      const value = values.get(name);
      if (typeof value === "boolean") return value ? [`--${name}`] : [];
      const all = value === undefined ? [] : [value].flat();
      return all.flatMap((one) => [`--${name}`, String(one)]);
    });
    const { run, tftpRoot } = args;
    const writes = args.take ? [run, tftpRoot].flatMap((path) => path ?? []) : [];
    const command = [...programCommand(), "host", "agent", ...argv];
    io().stdout.write(unitText(args.host, command, writes));
  },

  async "host takeover"(
    args: ListArgs & Parameters<typeof import("../../takeover/host-takeover.ts").takeOver>[1],
  ) {
    const about = await orNull(openRun(args.run, { create: false }).then(kindOf));
    const legacy = args.novaBmDb !== undefined || about?.variant === "baremetal";
    checkMode("takeover", legacy);
    const { takeOver } = await import("../../takeover/host-takeover.ts");
    const variant = legacy ? "baremetal" : "ironic";
    const sink = sinkOf(args);
    const moved = await takeOver(variant, args, sink, (made) => printMoves(args, sink, made));
    if (moved !== null) endOfMove(args, sink, moved);
  },

  async "host readmit"(
    args: ListArgs & Parameters<typeof import("../../takeover/host-readmit.ts").readmit>[1],
  ) {
    const sink = sinkOf(args);
    const { compute } = args;
    const variant = await variantOf(args.run);
    if (variant === "ironic") refuseOptions("host readmit of this run", ["nova-bm-db"]);
    const { readmit } = await import("../../takeover/host-readmit.ts");
    const lasts = await readmit(variant, args, sink);
    const within = lasts ? ` and its agent, within ${Math.round(lasts / 1000)} s` : "";
    sink.result(
      lasts === null
        ? `${compute} is no longer fenced.`
        : `${compute} can return to service: start its nova-compute${within}.`,
    );
  },
};

async function variantOf(run: string) {
  const { variant = "ironic" } = await kindOf(await openRun(run, { create: false }));
  return variant;
}

/** Options only for machines of nova-baremetal, and only for machines of Ironic. */
const LEGACY = ["tftp-root", "tftp-from", "root-uuid", "my-ip"];
const IRONIC = ["ironic-db", "ironic-url"];

function checkMode(action: string, legacy: boolean): void {
  const what = legacy
    ? `host ${action} for machines of nova-baremetal (--nova-bm-db)`
    : `host ${action} without --nova-bm-db, for machines of Ironic,`;
  refuseOptions(what, legacy ? IRONIC : LEGACY);
}

async function printMoves(args: PlanArgs, sink: Sink, { manifest }: MovePlan): Promise<void> {
  const path = resolve(args.run, PLAN);
  const every = EVERY.show({ file: path, nova: false });
  await printView(movesView(movesOf(path)), { ...args, every });
  const text = [...hostsText(manifest.findings), movesText(manifest.counts)].join("\n");
  if (args.format === "table") printLines(text);
  else sink.report(text);
}

function endOfMove(args: { readonly run: string }, sink: Sink, moved: Awaited<Moved>): void {
  const { manifest, fenced, made, found, blocked, skipped, stopped } = moved;
  const fence = fenced === 0 ? "" : `${counted(fenced, "host")} fenced, `;
  const out = blocked + skipped.length;
  const skippedText = out === 0 ? "" : `; ${counted(out, "machine was", "machines were")} skipped`;
  for (const { id, reason } of skipped) sink.note(`${id} was skipped: ${reason}`);
  const changes =
    manifest.nova_bm === undefined
      ? `${counted(made, "row")} changed`
      : `${counted(made, "machine")} moved`;
  sink.result(`Host move: ${fence}${changes}, ${found} already done${skippedText}.`);
  if (stopped) {
    sink.report(STOPPED);
    return;
  }
  for (const { host } of manifest.from) sink.note(queueText(host));
  const undo = nextCommand("rollback", args, { all: true });
  sink.report(`Next: ${nextCommand("verify", args)}\nUndo: ${undo}`);
  if (out > 0) exitWith("partial");
}

/**
 * Does not restart after a fence: start the unit when the host is readmitted.
 *
 * @param command its program and arguments
 * @param writes folders it writes to
 */
function unitText(host: string, command: readonly string[], writes: readonly string[]): string {
  return `[Unit]
Description=nova2ironic: lease of compute host ${host}
After=network-online.target
Wants=network-online.target

[Service]
Type=simple
ExecStart=${command.map(unitArgument).join(" ")}
Restart=on-failure
RestartSec=10
RestartPreventExitStatus=5 12 64
ProtectSystem=strict
${writes.length === 0 ? "" : `ReadWritePaths=${writes.map(unitArgument).join(" ")}\n`}ProtectHome=read-only
NoNewPrivileges=yes

[Install]
WantedBy=multi-user.target
`;
}

/** @source systemd.service(5), "Command lines"; systemd.syntax(7) */
function unitArgument(text: string): string {
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("%", "%%")
    .replaceAll("$", "$$$$");
  return /^[\w@%+=:,./-]+$/.test(text) ? escaped : `"${escaped}"`;
}
