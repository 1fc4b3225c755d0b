import { REFUSALS, type RefusalCode } from "./refusals.ts";

/**
 * The one error this tool throws on purpose; anything else that is thrown is a bug.
 *
 * `message` names the thing and the fact, lower case, no full stop, and never a secret or a row
 * value; `fix` says what the operator does next.
 */
export class MigrationError extends Error {
  override readonly name = "MigrationError";
  readonly code: RefusalCode;
  /** The reason if the message is not enough: one sentence. `explain` has the general one of the code. */
  readonly why: string | null;
  /** The next step: one sentence. The code's own advice unless something better is known here. */
  readonly fix: string;

  constructor(
    code: RefusalCode,
    message: string,
    options: { readonly cause?: unknown; readonly why?: string; readonly fix?: string } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.why = options.why ?? null;
    this.fix = options.fix ?? REFUSALS[code].fix;
  }

  /** The process's exit status for this error; the table is in src/manual/scripts.md. */
  get exit(): number {
    return REFUSALS[this.code].exit;
  }
}

/** What of this, or of what caused it, has a code; null: nothing. */
export function causeWith(error: unknown, code: RefusalCode): MigrationError | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof MigrationError && cause.code === code) return cause;
  return null;
}

/** What comes of it; null where it is refused, for one of these codes or without any for whichever. */
export function orNull<T>(work: Promise<T>, ...codes: readonly RefusalCode[]): Promise<T | null> {
  return work.catch((error: unknown) => {
    if (!(error instanceof MigrationError)) throw error;
    if (codes.length > 0 && !codes.includes(error.code)) throw error;
    return null;
  });
}

/** The system's name of a failure (`ENOSPC`), or null when `cause` is no answer of the system. */
export function systemCode(cause: unknown): string | null {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : null;
}

/** `no such file or directory (ENOENT)`: the system's words without call and path. */
export function systemWords(cause: unknown): string {
  if (!(cause instanceof Error)) return "unknown failure";
  const [, code, what] = /^([A-Z0-9]+): (.*?), /.exec(cause.message) ?? [];
  return what === undefined ? "the name is not one a file can have" : `${what} (${code})`;
}
