import { closeSync } from "node:fs";
import { isatty } from "node:tty";
import { EXIT_STATUS } from "../lib/exit-status.ts";
import type { Interrupt, ServiceSignals } from "../run/process-context.ts";
import { type Host, io, isForMachines } from "./io.ts";
import { log } from "./log.ts";
import { printNotice } from "./print/events.ts";
import { onUnread } from "./print/out.ts";

/** Exit status by signal. Losing the terminal (SIGHUP) ends a command in the same way as SIGTERM. */
const STATUS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 143, SIGQUIT: 143 } as const;
/** Signals after which a command that writes finishes its batch. */
const ASKING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Aborted by the first signal. Later stages of the same command do not start. */
let stop = new AbortController();
/** The number of running operations that finish their batch before the process ends. */
let acting = 0;
let serving: ServiceSignals | null = null;

/** Resets the interrupt of an earlier command in this process. */
export function beginCommand(): void {
  if (acting === 0 && stop.signal.aborted) stop = new AbortController();
}

/**
 * The exit handlers delete temporary files and end child processes. SIGQUIT is handled because the
 * kernel would write a core file with every password.
 */
export function endOnSignal(host: Host): void {
  for (const signal of [...ASKING, "SIGQUIT"] as const)
    host.on(signal, () => {
      if (acting > 0 && signal !== "SIGQUIT") return;
      log("end", { status: STATUS[signal], name: signal });
      if (signal === "SIGINT" && io().stderr.isTTY === true)
        printNotice("\nInterrupted. No work is lost. To resume, run the same command again.");
      host.exit(STATUS[signal]);
    });
}

/**
 * A question can fail before SIGHUP arrives. Closes lost terminals, because node aborts if it
 * cannot restore one, and its core file may have passwords.
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
  // A write can also fail before the signal arrives, and a shell may not forward the signal.
  for (const stream of [host.stdout, host.stderr])
    stream.on("error", () => {
      // The output may be a file on a full disk.
      if (!lost().includes(stream.fd)) return;
      if (serving === null) host.emit("SIGHUP", "SIGHUP");
      // SIGHUP would make a service reload its policy and print that, which fails again.
      else if (!stop.signal.aborted) host.emit("SIGTERM", "SIGTERM");
    });
}

/**
 * If the reader ends, as in `show | head`, the process ends without an error, as on SIGPIPE. An
 * operation that writes finishes its batch first, as for a lost terminal.
 */
export function endOnLostReader(host: NodeJS.Process): void {
  const { status } = EXIT_STATUS.unread;
  for (const [name, stream] of [
    ["stdout", host.stdout],
    ["stderr", host.stderr],
  ] as const)
    onUnread(stream, () => {
      // The command is ending already.
      if (stop.signal.aborted) return;
      if (acting === 0) {
        log("end", { status, name: "SIGPIPE" });
        host.exit(status);
        return;
      }
      const signal = serving === null ? "SIGHUP" : "SIGTERM";
      printNotice(`${name} is closed, because its reader has exited.`);
      host.emit(signal, signal);
    });
}

/** A second Ctrl-C or SIGTERM stops at once, and the database rolls back the open transaction. */
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
  "Stopping after this batch. A second signal stops immediately. In both cases, the same command resumes.";

function handle(signal: NodeJS.Signals): void {
  if (signal === "SIGHUP" && serving !== null) {
    serving.reload();
    return;
  }
  const status = STATUS[signal as keyof typeof STATUS];
  if (stop.signal.aborted) {
    // The shell and the kernel may each send SIGHUP, so a second one is not a second request.
    if (signal === "SIGHUP") return;
    log("end", { status, name: signal });
    io().host.exit(status);
    return;
  }
  io().status = status;
  stop.abort();
  const text = serving?.stopping ?? BATCH;
  // A terminal shows ^C on the current line.
  printNotice(isForMachines() ? text : `\n${text}`);
}
