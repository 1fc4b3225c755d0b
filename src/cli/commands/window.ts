import type { Pace } from "../../engine/window-part.ts";
import { MigrationError } from "../../lib/error.ts";
import { visibleLines } from "../../lib/table/text.ts";
import { counted } from "../../lib/text.ts";
import { STOPPED } from "../../migrate/order.ts";
import { closing } from "../../run/databases.ts";
import { openRun } from "../../run/files/run-folder.ts";
import { closeWindow, openWindow, readWindow } from "../../run/files/window-file.ts";
import { AFTER } from "../../window/runner/after.ts";
import type { RunEnd } from "../../window/runner/runner.ts";
import { io } from "../io.ts";
import { printView } from "../print/out.ts";
import { checksJson, checksTable, checksTotal, matchingChecks } from "../views/checks.ts";
import { EVERY } from "../views/every-row.ts";
import { bootSummary, bootView, loggedView, statesView } from "../views/previews.ts";
import { windowView } from "../views/records.ts";
import { settingsJson, settingsText, settingsView } from "../views/settings.ts";
import {
  type ArgsOf,
  exitWith,
  type ListArgs,
  painted,
  print,
  printDone,
  sinkOf,
  type Voice,
} from "./shared.ts";

type Handover = typeof import("../../window/handover/handover.ts");
type Finish = typeof import("../../window/finish/finish.ts");
type Runner = typeof import("../../window/runner/runner.ts");

export const commands = {
  async check(args: ArgsOf<typeof import("../../window/check/check.ts").check>) {
    const sink = sinkOf(args);
    const { check } = await import("../../window/check/check.ts");
    const { statusOfChecks } = await import("../../window/check/rules/checks.ts");
    const rows = await check(args, sink);
    const { match, allRows } = args;
    const matches = match === undefined ? rows : matchingChecks(rows, match);
    if (args.json) io().stdout.write(checksJson(matches));
    else {
      const every = allRows === true || match !== undefined;
      const listed = every ? matches : matches.filter(({ result }) => result !== "Success");
      const table = listed.length > 0 ? checksTable(listed, every) : "";
      io().stdout.write(painted(table));
      io().stdout.write(`${checksTotal(rows, !every)}\n`);
    }
    exitWith(statusOfChecks(rows));
  },

  async config(args: ArgsOf<typeof import("../../window/config/config.ts").config>) {
    const sink = sinkOf(args);
    const { config } = await import("../../window/config/config.ts");
    const { desired, inspected } = await config(args);
    if (args.json) io().stdout.write(settingsJson(desired, inspected));
    else if (inspected === null) print(settingsText(desired));
    else if (args.check)
      await printView(settingsView(inspected.rows), { ...args, every: EVERY.same() });
    else io().stdout.write(inspected.patches.join(""));
    for (const note of desired.notes) sink.report(`Note: ${note}`);
    if (!args.check && (inspected?.patches.length ?? 0) > 1)
      sink.report(
        "Note: This output contains patches for several files. Run the command once for each file that is on a different host.",
      );
    // On stderr, because stdout is the patch, and printed even with --quiet.
    if (inspected?.hosts && !args.json)
      io().stderr.write(`${visibleLines(`Wrong: ${inspected.hosts}.`).join("\n")}\n`);
    const open = inspected?.rows.filter(({ state }) => state !== "right").length ?? 0;
    if (open > 0) sink.report(`${counted(open, "setting is", "settings are")} to change.`);
    else if (inspected?.hosts === null) sink.report("All settings are correct.");
    if (open > 0 || inspected?.hosts) exitWith("differs");
  },

  async report(
    args: Voice &
      Parameters<typeof import("../../window/report/report.ts").report>[0] & {
        readonly format: "html" | "md";
        readonly output?: string;
        readonly allRows: boolean;
      },
  ) {
    const { report } = await import("../../window/report/report.ts");
    const { openParts, pageAssets, writeReport } = await import(
      "../../window/report/report-file.ts"
    );
    const { output } = args;
    const sink = sinkOf({ ...args, format: "table" });
    const save = async (title: string, text: Parameters<typeof writeReport>[2]): Promise<void> =>
      print(`${title}\nSaved ${await writeReport(args.run, output, text)}.`);
    await closing(async (keep) => {
      if (args.format !== "html") {
        const { markdown } = await import("../../window/report/markdown.ts");
        const { facts } = await report(args, sink, null);
        const text = markdown(facts, args.allRows);
        return output === undefined ? print(text) : save(facts.verdict.title, [text]);
      }
      const { packed, page } = await import("../../window/report/page/page.ts");
      const parts = keep(openParts(output));
      const made = await report(args, sink, (folder, machines, origins) =>
        parts.keep(folder, packed(machines, origins)),
      );
      await save(made.facts.verdict.title, page({ ...made, machines: parts.pieces }, pageAssets()));
      sink.report(
        "Open it in a browser. It does not require a network and does not contain passwords. It contains the names of machines, hosts and instances.",
      );
    });
  },

  async rehearse(args: ArgsOf<typeof import("../../window/rehearse/rehearse.ts").rehearse>) {
    const sink = sinkOf(args);
    const { rehearse } = await import("../../window/rehearse/rehearse.ts");
    const { endOf } = await import("../../window/rehearse/rehearsal-file.ts");
    const { rehearsalText, rehearsalView } = await import("../views/rehearsal.ts");
    const found = await rehearse(args, sink);
    if (found === null)
      return sink.report("Stopped. Restore the copies before the next rehearsal.");
    await printView(rehearsalView(found.stages), args);
    for (const text of rehearsalText(found)) sink.note(text);
    sink.report(AFTER.rehearse(args));
    exitWith(endOf(found));
  },

  async boot(args: ArgsOf<typeof import("../../window/boot/boot.ts").boot>) {
    const sink = sinkOf(args);
    const { boot } = await import("../../window/boot/boot.ts");
    const { plan, verify, undo } = args;
    const { rows, stopped, elsewhere, dhcp } = await boot(args, sink);
    if (stopped) sink.report(STOPPED);
    const has = (expected: string): boolean => rows.some(({ state }) => state === expected);
    const listed = rows.filter(({ state }) => state !== "ready");
    if (listed.length > 0 || args.format !== "table")
      // After an undo, no other command lists the rows again.
      await printDone(bootView(listed), {
        ...{ ...args, every: EVERY.boot(args), allRows: args.allRows === true || undo },
      });
    const title = plan ? "Plan" : verify ? "Verify" : undo ? "Undo" : "Boot";
    const none = undo ? "this run has no boot files there" : "no machine has an instance to boot";
    sink.result(bootSummary(title, rows, none));
    if (has("stumbles") || (undo && has("left"))) exitWith("differs");
    else if (has("left") && !plan) exitWith("partial");
    if (plan || verify) return;
    if (elsewhere.length > 0)
      sink.report(`This run also staged boot files in other trees: ${elsewhere.join(", ")}`);
    if (dhcp !== null)
      sink.report(
        `Until Ironic takes over the machines, DHCP directs them to their old host. Keep its TFTP service: ${dhcp}`,
      );
    sink.report(AFTER.boot(args));
  },

  async handover(
    args: ArgsOf<Handover["handover"]> &
      Pick<Pace, "deadline" | "maxFailures"> & {
        readonly inFlight?: number;
        readonly perMinute?: number;
      },
  ) {
    const sink = sinkOf(args);
    const { handover } = await import("../../window/handover/handover.ts");
    const { ONE_BY_ONE } = await import("../../engine/window-part.ts");
    const { inFlight = null, perMinute, deadline, maxFailures } = args;
    const every = perMinute === undefined ? 0 : 60_000 / perMinute;
    const pace = { ...ONE_BY_ONE, inFlight, every, deadline: deadline * 1000, maxFailures };
    const { trouble, noted, broke } = await handover(args, pace, sink);
    const listed = [...trouble, ...noted];
    const logs = (args.conductorLog ?? []).length > 0;
    if (listed.length > 0)
      await printDone((logs ? loggedView : statesView)(listed), {
        ...args,
        every: EVERY.handover(args),
      });
    if (trouble.length > 0) exitWith("partial");
    if (broke !== null) throw broke;
    sink.report(AFTER.handover(args));
  },

  async finish(args: ArgsOf<Finish["finishRun"]> & { readonly plan: boolean }) {
    const { finishRun, previewFinish, RUN_DONE } = await import("../../window/finish/finish.ts");
    const how = { ...args, every: EVERY.finish(args) };
    const sink = sinkOf(how);
    if (args.plan) return previewFinish(args, sink);
    const { skipped, stopped, broke, notes, partial } = await finishRun(args, sink);
    if (skipped.length > 0) await printDone(statesView(skipped), how);
    if (partial) exitWith("partial");
    if (broke !== null) throw broke;
    if (stopped) sink.report(STOPPED);
    for (const text of notes) if (args.walked !== true || text !== RUN_DONE) sink.result(text);
    sink.report(AFTER.finish(args));
  },

  async retire(args: ArgsOf<typeof import("../../window/retire/retire.ts").retire>) {
    const { retire } = await import("../../window/retire/retire.ts");
    await retire(args, sinkOf(args));
  },

  async run(
    args: ArgsOf<Runner["runStages"]>,
    { stages }: { readonly stages: (run: typeof args) => Parameters<Runner["runStages"]>[1] },
  ) {
    const sink = sinkOf(args);
    const { runStages } = await import("../../window/runner/runner.ts");
    const { runAgain } = await import("../../window/runner/perform-stage.ts");
    const again = runAgain(args);
    const ended = await runStages(args, stages(args), sink).catch((cause: unknown) => {
      // Such an error already has the command that resumes the run.
      if (!(cause instanceof MigrationError && cause.fix.includes("nova2ironic run ")))
        sink.report(`The run stops here. Then: ${again}`);
      throw cause;
    });
    if (ended.status !== null) exitWith(ended.status);
    sink.report(endText(ended, again));
  },

  async window(
    args: ListArgs & { readonly run: string; readonly action: "open" | "close" | "show" },
  ) {
    const run = await openRun(args.run, { create: false });
    switch (args.action) {
      case "open": {
        const { at, by } = await openWindow(run);
        return print(`The window is open since ${at} by ${by}.`);
      }
      case "close":
        return print((await closeWindow(run)) ? "The window is closed." : "No window is open.");
      case "show":
        return printView(windowView(await readWindow(run)), args);
    }
  },

  async support(args: ArgsOf<typeof import("../../window/support.ts").support>) {
    const sink = sinkOf(args);
    const { support } = await import("../../window/support.ts");
    const { path, bytes, files, skipped } = await support(args, sink);
    for (const { name, reason } of skipped) sink.report(`Left out: ${name}: ${reason}.`);
    print(`Wrote ${path}: ${counted(files.length, "file")}, ${Math.ceil(bytes / 1024)} KiB.`);
    sink.report(
      "Its passwords are encrypted, and the key is not included. It contains the names of machines, hosts, addresses and instances, so check it before you send it.",
    );
  },
};

function endText({ ended, at, status }: RunEnd, again: string): string {
  switch (ended) {
    case "done":
      return "The run is done.";
    case "until":
      return `Stopped before ${at}, as --until requests.\nNext: ${again.replace(/ --until \S+/, "")}`;
    case "stopped":
      return `Stopped on request at ${at}.\nNext: ${again}`;
    case "gate":
      return `The run stops at ${at} (exit ${status}). After you have resolved the problems above: ${again}`;
  }
}
