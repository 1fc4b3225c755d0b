import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import { REFUSALS } from "../../model/refusals.ts";
import { exitName } from "../../report/explain.ts";
import { visibleLines } from "../../report/text.ts";
import { causes, frames, safeMessage } from "./cause.ts";
import type { Emit } from "./events.ts";

/**
 * An error as one paragraph for the terminal, the most important line last. A foreign error's
 * message may hold a row or a password: it is shown only where its wording is known to be harmless.
 *
 * @param debug adds the chain of causes: names, codes and places in the code, no messages of drivers
 */
export function errorText(error: unknown, { debug }: { readonly debug: boolean }): string {
  const lines = error instanceof MigrationError ? told(error) : bugLines(error);
  const chain = debug && error instanceof Error ? [...ownFrames(error), ...causes(error)] : [];
  return [...chain, ...lines].map((line) => `${visibleLines(line).join("\n")}\n`).join("");
}

/** The exit status of what was caught: a refusal's own, 70 for a bug. */
export function exitStatus(error: unknown): number {
  return error instanceof MigrationError ? error.exit : EXIT_STATUS.bug.status;
}

/** The error as an event line, for `--json`. */
export function emitError(emit: Emit, error: unknown): void {
  const code = error instanceof MigrationError ? error.code : "N2I-E900";
  const message = error instanceof MigrationError ? error.message : safeMessage(error);
  const { why, fix } = error instanceof MigrationError ? error : REFUSALS[code];
  emit("diagnostic", {
    severity: "error",
    code,
    message,
    why,
    fix,
  });
}

/** The last line of stderr under `--json`. Consumers take a name they do not know as a failure. */
export function emitExit(
  emit: Emit,
  status: number,
  nameOf: (status: number) => string = exitName,
): void {
  emit("exit", { code: status, name: nameOf(status) });
}

function told(error: MigrationError): readonly string[] {
  return [
    `ERROR ${error.code} ${sentence(error.message)}`,
    `Why: ${error.why}`,
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
