import { MigrationError } from "../../model/error.ts";
import { placed } from "./trace.ts";

/** Properties of drivers' and Node's errors that name a fault and never quote a value. */
const TELLING = ["code", "errno", "syscall", "sqlState", "address", "port", "hostname"] as const;

/** Messages of the engine that name properties and variables of our code, and no values. */
const HARMLESS =
  /^(Cannot (read|set) properties of (undefined|null)( \((reading|setting) '\w+'\))?|Maximum call stack size exceeded|Invalid (array|string) length|[\w.]+ is not defined)$/;

/** The causes below an error, outermost first, each with its place in the code. */
export function causes(error: Error): readonly string[] {
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
 * The name of an error with what can be told of it safely. Knex, mysql2 and JSON.parse put the
 * values they worked on into their messages, so a message is withheld unless it is ours, a system
 * call's, or one of a few of the engine.
 */
export function safeMessage(error: unknown): string {
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
export function frames(error: Error): readonly string[] {
  const stack = error.stack ?? "";
  const after = stack.indexOf(error.message);
  return (after < 0 ? stack : stack.slice(after + error.message.length))
    .split("\n")
    .filter((line) => /^ {4}at \S/.test(line))
    .slice(0, 10)
    .map(placed);
}
