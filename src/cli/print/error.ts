import { pathToFileURL } from "node:url";
import { MigrationError } from "../../lib/error.ts";
import { EXIT_STATUS } from "../../lib/exit-status.ts";
import type { JsonObject } from "../../lib/json.ts";
import { REFUSALS } from "../../lib/refusals.ts";
import { visibleLines } from "../../lib/table/text.ts";
import { packageRoot } from "../../run/files/package-root.ts";
import { exitName } from "../views/explain.ts";
import type { Emit } from "./events.ts";

/**
 * An error as one paragraph for the terminal, the most important line last. A foreign error's
 * message may hold a row or a password: it is shown only where its wording is known to be harmless.
 *
 * @param debug adds the chain of causes: names, codes and places in the code, no messages of drivers
 */
export function errorText(error: unknown, { debug }: { readonly debug: boolean }): string {
  const lines = error instanceof MigrationError ? refusalLines(error) : bugLines(error);
  const chain = debug && error instanceof Error ? [...ownFrames(error), ...causes(error)] : [];
  return [...chain, ...lines].map((line) => `${visibleLines(line).join("\n")}\n`).join("");
}

/** The exit status of what was caught: a refusal's own, 70 for a bug. */
export function exitStatus(error: unknown): number {
  return error instanceof MigrationError ? error.exit : EXIT_STATUS.bug.status;
}

/** The error for programs: an event line of `--json`, a line of the run's log. */
export function refusalOf(error: unknown): JsonObject {
  const code = error instanceof MigrationError ? error.code : "N2I-E900";
  const message = error instanceof MigrationError ? error.message : safeMessage(error);
  const { why, fix } = error instanceof MigrationError ? error : REFUSALS[code];
  return { severity: "error", code, message, ...(why !== null && { why }), fix };
}

/** The last line of stderr under `--json`. Consumers take a name they do not know as a failure. */
export function emitExit(
  emit: Emit,
  status: number,
  nameOf: (status: number) => string = exitName,
): void {
  emit("exit", { code: status, name: nameOf(status) });
}

function refusalLines(error: MigrationError): readonly string[] {
  return [
    `ERROR ${error.code} ${sentence(error.message)}`,
    ...(error.why === null ? [] : [`Why: ${error.why}`]),
    `More: nova2ironic explain ${error.code}`,
    `Fix: ${error.fix}`,
  ];
}

function bugLines(error: unknown): readonly string[] {
  const { why, fix } = REFUSALS["N2I-E900"];
  const where = error instanceof Error ? frames(error) : [];
  return [
    ...where,
    `ERROR N2I-E900 This is a bug in nova2ironic: ${sentence(safeMessage(error))}`,
    `Why: ${why}`,
    `Fix: ${fix}`,
  ];
}

function ownFrames(error: Error): readonly string[] {
  return error instanceof MigrationError ? frames(error) : [];
}

function sentence(message: string): string {
  return /[.!?:]$/.test(message) ? message : `${message}.`;
}

/** What the system says when a process, or the whole host, has no more file descriptors. */
const OUT_OF_FILES: readonly unknown[] = ["EMFILE", "ENFILE"];

/**
 * An error behind which is a want of file descriptors, as that: whatever met it first, it is no bug
 * and no fault of a disk, a BMC or a server. What was written is in no doubt by it: an error that
 * tells of a run that stopped midway stays what it is.
 */
export function outOfFiles(error: unknown): unknown {
  if (error instanceof MigrationError && !RENAMED.has(error.code)) return error;
  const seen = new Set<unknown>();
  for (let cause = error; cause instanceof Error && !seen.has(cause); cause = cause.cause) {
    seen.add(cause);
    if ("code" in cause && OUT_OF_FILES.includes(cause.code))
      return new MigrationError("N2I-E221", `too many files are open (${String(cause.code)})`, {
        cause: error,
      });
  }
  return error;
}

/** Refusals whose own advice would mislead: a disk, a run folder, a server, a host's programs. */
const RENAMED: ReadonlySet<string> = new Set(["N2I-E110", "N2I-E120", "N2I-E200", "N2I-E400"]);

/** Properties of drivers' and Node's errors that name a fault and never quote a value. */
const TELLING = ["code", "errno", "syscall", "sqlState", "address", "port", "hostname"] as const;

/** Messages of the engine that name properties and variables of our code, or a package, and no values. */
const HARMLESS =
  /^Cannot find (module|package) '(@[\w-]+\/)?[\w-]+'|^(Cannot (read|set) properties of (undefined|null)( \((reading|setting) '\w+'\))?|Maximum call stack size exceeded|Invalid (array|string) length|[\w.]+ is not defined)$/;

/** The causes below an error, outermost first, each with its place in the code. */
function causes(error: Error): readonly string[] {
  const lines: string[] = [];
  const seen = new Set<unknown>([error]);
  let cause = error.cause;
  while (cause !== undefined && !seen.has(cause)) {
    seen.add(cause);
    lines.push(`Caused by: ${safeMessage(cause)}`);
    if (!(cause instanceof Error)) break;
    lines.push(...frames(cause));
    cause = cause.cause;
  }
  return lines;
}

/**
 * The name of an error with what can be shown of it safely. Knex, mysql2 and JSON.parse put the
 * values they worked on into their messages, so a message is withheld unless it is ours, a system
 * call's, or one of a few of the engine.
 */
function safeMessage(error: unknown): string {
  if (!(error instanceof Error)) return `a ${typeof error} was thrown`;
  const name = /^\w+$/.test(error.name) ? error.name : "Error";
  if (error instanceof MigrationError) return `${error.code} ${error.message}`;
  const facts = TELLING.flatMap((key) => {
    // A driver's error has more properties than its type; `unknown` makes us look before we print.
    const value = (error as unknown as { readonly [key: string]: unknown })[key];
    return /^[\w.:-]{1,64}$/.test(String(value ?? "")) ? [`${key}=${String(value)}`] : [];
  });
  const [harmless] = HARMLESS.exec(error.message) ?? [];
  if (harmless !== undefined) return [`${name}: ${harmless}`, ...facts].join(" ");
  return facts.length === 0 ? `${name} (message withheld)` : `${name} ${facts.join(" ")}`;
}

/** At most ten lines of the stack, without the message they follow. */
function frames(error: Error): readonly string[] {
  const stack = error.stack ?? "";
  const after = stack.indexOf(error.message);
  return (after < 0 ? stack : stack.slice(after + error.message.length))
    .split("\n")
    .filter((line) => /^ {4}at \S/.test(line))
    .slice(0, 10)
    .map(placed);
}

/** A line of a stack without the folder of the installation: `    at apply (src/engine/apply.js:12:34)`. */
export function placed(line: string): string {
  const root = packageRoot();
  const folders = [pathToFileURL(root).href, root].flatMap((one) => [`${one}/dist/`, `${one}/`]);
  return folders.reduce((shown, folder) => shown.replace(folder, ""), line);
}
