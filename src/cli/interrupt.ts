import { closeSync } from "node:fs";
import { isatty } from "node:tty";
import { EXIT_STATUS } from "../lib/exit-status.ts";
import type { Interrupt, ServiceSignals } from "../run/process-context.ts";
import { type Host, io, isForMachines } from "./io.ts";
import { log } from "./log.ts";
import { aside } from "./print/events.ts";
import { onUnread } from "./print/out.ts";

/** Exit status by signal. A terminal that is lost (SIGHUP) ends a command as SIGTERM does. */
const STATUS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 143, SIGQUIT: 143 } as const;
/** Those an acting command comes to a good place for. */
const ASKING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Aborted by the first signal. What comes later in the same command is stopped before it begins. */
let stop = new AbortController();
/** Who has to come to a good place first. */
let acting = 0;
let serving: ServiceSignals | null = null;

/** A command begins: what stopped one before it in this process does not stop it. */
export function beginCommand(): void {
  if (acting === 0 && stop.signal.aborted) stop = new AbortController();
}

/**
 * Ends the process on a signal while nobody acts: what stands on the disk for the time of a command
 * goes, and so do its children. Without this the kernel would end it before that; a SIGQUIT would
 * leave a core file with every password in it.
 */
export function endOnSignal(host: Host): void {
  for (const signal of [...ASKING, "SIGQUIT"] as const)
    host.on(signal, () => {
      if (acting > 0 && signal !== "SIGQUIT") return;
      log("end", { status: STATUS[signal], name: signal });
      // Who pressed Ctrl-C is there to read it.
      if (signal === "SIGINT" && io().stderr.isTTY === true)
        aside("\nInterrupted; nothing is lost. Run the same command again to go on.");
      host.exit(STATUS[signal]);
    });
}

/**
 * A terminal that is gone ends the process as SIGHUP does. A question finds out before the signal comes; and at
 * its end node aborts where it cannot set a terminal back, which may leave a core file with every password in it:
 * of what is gone it is to know nothing.
 */
export function endOnLostTerminal(host: NodeJS.Process): void {
  const terminals = [0, 1, 2].filter((file) => isatty(file));
  const lost = (): readonly number[] => terminals.filter((file) => !isatty(file));
  host.on("uncaughtExceptionMonitor", () => {
    if (lost().length === 0) return;
    log("end", { status: STATUS.SIGHUP, name: "SIGHUP" });
    host.exit(STATUS.SIGHUP);
  });
  host.on("exit", () => {
    for (const file of lost()) closeSync(file);
  });
  // So does what is written, and a shell may keep the signal to itself.
  for (const stream of [host.stdout, host.stderr])
    stream.on("error", () => {
      // A file that is full says nothing of a terminal.
      if (!lost().includes(stream.fd)) return;
      if (serving === null) host.emit("SIGHUP", "SIGHUP");
      // It would read its policy again and say so, which comes here again.
      else if (!stop.signal.aborted) host.emit("SIGTERM", "SIGTERM");
    });
}

/**
 * A reader that goes away, as in `show | head`, ends the process as SIGPIPE would, and quietly. Whoever acts comes to a
 * good place first, as at a terminal that is lost: a load is not cut between two databases for a pager's sake.
 */
export function endOnLostReader(host: NodeJS.Process): void {
  const { status } = EXIT_STATUS.unread;
  for (const [name, stream] of [
    ["stdout", host.stdout],
    ["stderr", host.stderr],
  ] as const)
    onUnread(stream, () => {
      // It comes to its end by itself, and what it says on the way is lost likewise.
      if (stop.signal.aborted) return;
      if (acting === 0) {
        log("end", { status, name: "SIGPIPE" });
        host.exit(status);
        return;
      }
      const signal = serving === null ? "SIGHUP" : "SIGTERM";
      aside(`${name} is closed: its reader has ended.`);
      host.emit(signal, signal);
    });
}

/**
 * Ctrl-C, SIGTERM or SIGHUP once: finish the batch and stop. Ctrl-C or SIGTERM after that: stop at once; the
 * open transaction dies with the connection.
 */
export function onInterrupt(service?: ServiceSignals): Interrupt {
  const { host } = io();
  acting += 1;
  if (service !== undefined) serving = service;
  if (acting === 1) for (const signal of ASKING) host.on(signal, handle);
  const { signal } = stop;
  return {
    stopping: () => signal.aborted,
    signal,
    end: () => {
      acting -= 1;
      if (service !== undefined) serving = null;
      if (acting === 0) for (const name of ASKING) host.off(name, handle);
    },
  };
}

const BATCH =
  "Stopping after this batch; once more stops at once. Both can be resumed with the same command.";

function handle(signal: NodeJS.Signals): void {
  if (signal === "SIGHUP" && serving !== null) {
    serving.reload();
    return;
  }
  const status = STATUS[signal as keyof typeof STATUS]; // only those are heard
  if (stop.signal.aborted) {
    // A shell passes it on, and the kernel says it again once the shell has ended: nobody asks twice.
    if (signal === "SIGHUP") return;
    log("end", { status, name: signal });
    io().host.exit(status);
    return;
  }
  io().status = status;
  stop.abort();
  const text = serving?.stopping ?? BATCH;
  // A terminal shows ^C on the line it is at.
  aside(isForMachines() ? text : `\n${text}`);
}
