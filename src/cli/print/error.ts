import { pathToFileURL } from "node:url";
import { MigrationError } from "../../lib/error.ts";
import { EXIT_STATUS } from "../../lib/exit-status.ts";
import type { JsonObject } from "../../lib/json.ts";
import { REFUSALS } from "../../lib/refusals.ts";
import { visibleLines } from "../../lib/table/text.ts";
import { packageRoot } from "../../run/files/package-root.ts";

/**
 * The message of a foreign error may contain a row or a password, so it is shown only if known.
 *
 * @param debug adds the chain of causes with their position in the code
 */
export function errorText(error: unknown, { debug }: { readonly debug: boolean }): string {
  const isBug = !(error instanceof MigrationError);
  const { code, message, reason, fix } = refused(error);
  const stack = error instanceof Error && (debug || isBug) ? frames(error) : [];
  const all = debug && error instanceof Error ? causes(error) : [];
  const lines = [
    ...(isBug ? [...all, ...stack] : [...stack, ...all]),
    `ERROR ${code} ${isBug ? "This is a bug in nova2ironic: " : ""}${/[.!?:]$/.test(message) ? message : `${message}.`}`,
    ...(reason === null ? [] : [`Why: ${reason}`]),
    ...(isBug ? [] : [`More: nova2ironic explain ${code}`]),
    `Fix: ${fix}`,
  ];
  return lines.map((line) => `${visibleLines(line).join("\n")}\n`).join("");
}

export function exitStatus(error: unknown): number {
  return error instanceof MigrationError ? error.exit : EXIT_STATUS.bug.status;
}

/** The error as an event of `--json` and as a line of the run's log. */
export function refusalOf(error: unknown): JsonObject {
  const { reason, fix, ...about } = refused(error);
  return { severity: "error", ...about, ...(reason !== null && { why: reason }), fix };
}

function refused(error: unknown) {
  if (error instanceof MigrationError) {
    const { code, message, reason, fix } = error;
    return { code, message, reason, fix };
  }
  const { reason, fix } = REFUSALS["N2I-E900"];
  return { code: "N2I-E900", message: safeMessage(error), reason, fix };
}

/** Codes if the process or the host has no file descriptors left. */
const OUT_OF_FILES: readonly unknown[] = ["EMFILE", "ENFILE"];

/**
 * Missing file descriptors look like a bug, or a failure of a disk, BMC or server. An error about a
 * partly done change is kept.
 */
export function outOfFiles(error: unknown): unknown {
  if (error instanceof MigrationError && !RENAMED.has(error.code)) return error;
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ("code" in cause && OUT_OF_FILES.includes(cause.code))
      return new MigrationError("N2I-E221", `too many files are open (${String(cause.code)})`, {
        cause: error,
      });
  return error;
}

/** Errors whose fix would mislead: a disk, a run folder, a server, a program. */
const RENAMED: ReadonlySet<string> = new Set(["N2I-E110", "N2I-E120", "N2I-E200", "N2I-E400"]);

/** Properties of errors that never contain a value of a row. */
const PRINTABLE = ["code", "errno", "syscall", "sqlState", "address", "port", "hostname"] as const;

/** Messages of the JavaScript engine that contain names of code or packages, and no values. */
const HARMLESS =
  /^Cannot find (module|package) '(@[\w-]+\/)?[\w-]+'|^(Cannot (read|set) properties of (undefined|null)( \((reading|setting) '\w+'\))?|Maximum call stack size exceeded|Invalid (array|string) length|[\w.]+ is not defined)$/;

function causes(error: Error): readonly string[] {
  const { cause } = error;
  if (cause === undefined) return [];
  const line = `Caused by: ${safeMessage(cause)}`;
  return cause instanceof Error ? [line, ...frames(cause), ...causes(cause)] : [line];
}

/** Messages of Knex, mysql2 and JSON.parse contain values, so only known messages are shown. */
function safeMessage(error: unknown): string {
  if (!(error instanceof Error)) return `a ${typeof error} was thrown`;
  const name = /^\w+$/.test(error.name) ? error.name : "Error";
  if (error instanceof MigrationError) return `${error.code} ${error.message}`;
  const facts = PRINTABLE.flatMap((key) => {
    // The properties are not in the error's type.
    const value = (error as unknown as { readonly [key: string]: unknown })[key];
    return /^[\w.:-]{1,64}$/.test(String(value ?? "")) ? [`${key}=${String(value)}`] : [];
  });
  const [harmless] = HARMLESS.exec(error.message) ?? [];
  if (harmless !== undefined) return [`${name}: ${harmless}`, ...facts].join(" ");
  return facts.length === 0 ? `${name} (message withheld)` : `${name} ${facts.join(" ")}`;
}

/** At most ten lines of the stack, without the message. */
function frames(error: Error): readonly string[] {
  const stack = error.stack ?? "";
  const after = stack.indexOf(error.message);
  return (after < 0 ? stack : stack.slice(after + error.message.length))
    .split("\n")
    .filter((line) => /^ {4}at \S/.test(line))
    .slice(0, 10)
    .map(placed);
}

/** A stack line without the installation folder: `    at apply (src/engine/apply.js:12:34)`. */
export function placed(line: string): string {
  const root = packageRoot();
  const folders = [pathToFileURL(root).href, root].flatMap((one) => [`${one}/dist/`, `${one}/`]);
  return folders.reduce((text, folder) => text.replace(folder, ""), line);
}
