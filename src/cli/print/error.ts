import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { dirname, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { MigrationError } from "../../lib/error.ts";
import { EXIT_STATUS } from "../../lib/exit-status.ts";
import type { JsonObject } from "../../lib/json.ts";
import { REFUSALS } from "../../lib/refusals.ts";
import { visibleLines } from "../../lib/table/text.ts";
import { packageRoot, program } from "../../run/files/package-root.ts";
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

/** Messages of the engine that name properties and variables of our code, and no values. */
const HARMLESS =
  /^(Cannot (read|set) properties of (undefined|null)( \((reading|setting) '\w+'\))?|Maximum call stack size exceeded|Invalid (array|string) length|[\w.]+ is not defined)$/;

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
  if (HARMLESS.test(error.message)) return [`${name}: ${error.message}`, ...facts].join(" ");
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

/** `    at apply (bundle/program.js:12:345)`, with or without a function, or in a module of its own. */
const FRAME = /([ (])((?:file:\/\/|bundle\/)\S+\.js):(\d+):(\d+)(\)?)$/;

/**
 * A line of a stack with its place in src instead of the bundle's, which is no place in any file that
 * is read. Node does so itself with --enable-source-maps, but reads every map at start.
 */
export function placed(line: string): string {
  const folder = dirname(program());
  // What Node loads by itself, the entry, has its path; what load-program.ts does has not.
  const named = line.replace(`(${folder}/`, "(bundle/").replace(` ${folder}/`, " bundle/");
  const match = FRAME.exec(named);
  if (match === null) return named;
  const [, open, name = "", row, column, close] = match;
  const url = new URL(name, pathToFileURL(folder)).href;
  const found = mapOf(url)?.findEntry(Number(row) - 1, Number(column) - 1);
  if (found === undefined || !("originalSource" in found)) return named;
  const file = relative(packageRoot(), fileURLToPath(new URL(found.originalSource, url)));
  const at = `${file}:${found.originalLine + 1}:${found.originalColumn + 1}`;
  return `${named.slice(0, match.index)}${open}${at}${close}`;
}

/** Maps that were read: the frames of a stack are of a file or two. */
const maps = new Map<string, SourceMap | undefined>();

function mapOf(url: string): SourceMap | undefined {
  if (!maps.has(url)) maps.set(url, readMap(url));
  return maps.get(url);
}

function readMap(url: string): SourceMap | undefined {
  try {
    // Written beside it by the build.
    return new SourceMap(
      JSON.parse(readFileSync(fileURLToPath(`${url}.map`), "utf8")) as SourceMapPayload,
    );
  } catch {
    // A module of its own has its places already.
    return undefined;
  }
}
