import { REFUSALS, type RefusalCode } from "./refusals.ts";

/** The only error thrown on purpose. `message`: lower case, no full stop, no secret or row data. */
export class MigrationError extends Error {
  override readonly name = "MigrationError";
  readonly code: RefusalCode;
  /** One sentence, if the message is not enough. `explain` has the general reason of the code. */
  readonly reason: string | null;
  /** Next step of the operator: one sentence. Defaults to the fix of the code. */
  readonly fix: string;

  constructor(
    code: RefusalCode,
    message: string,
    options: { readonly cause?: unknown; readonly reason?: string; readonly fix?: string } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.reason = options.reason ?? null;
    this.fix = options.fix ?? REFUSALS[code].fix;
  }

  /** Exit status of the process. The table is in src/manual/scripts.md. */
  get exit(): number {
    return REFUSALS[this.code].exit;
  }
}

/** The error, or the first of its causes, that has this code. */
export function causeWith(error: unknown, code: RefusalCode): MigrationError | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof MigrationError && cause.code === code) return cause;
  return null;
}

/** Null if the work fails with one of these codes, or with any code if none is given. */
export function orNull<T>(work: Promise<T>, ...codes: readonly RefusalCode[]): Promise<T | null> {
  return work.catch((error: unknown) => {
    expected(error, codes);
    return null;
  });
}

/** As `orNull`, but returns the message of the error. */
export function orMessage<T>(
  work: Promise<T>,
  ...codes: readonly RefusalCode[]
): Promise<T | string> {
  return work.catch((error: unknown) => expected(error, codes).message);
}

function expected(error: unknown, codes: readonly RefusalCode[]): MigrationError {
  if (!(error instanceof MigrationError)) throw error;
  if (codes.length > 0 && !codes.includes(error.code)) throw error;
  return error;
}

/** System error name (`ENOSPC`). Null for any other error. */
export function systemCode(cause: unknown): string | null {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : null;
}

/** `no such file or directory (ENOENT)`: the system's message without call and path. */
export function systemText(cause: unknown): string {
  if (!(cause instanceof Error)) return "unknown failure";
  const [, code, what] = /^([A-Z0-9]+): (.*?), /.exec(cause.message) ?? [];
  return what === undefined ? "invalid file name" : `${what} (${code})`;
}
