import { MigrationError } from "../../model/error.ts";

/** The system's name of a failure (`ENOSPC`), or null when `cause` is no answer of the system. */
export function systemCode(cause: unknown): string | null {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : null;
}

/** N2I-E120 with the file and the system's words; what is no answer of the system stays itself. */
export function notWritten(path: string, cause: unknown): unknown {
  return isSystem(cause)
    ? new MigrationError("N2I-E120", `cannot write ${path}: ${words(cause)}`, { cause })
    : cause;
}

/** N2I-E110 with the file and the system's words; what is no answer of the system stays itself. */
export function notRead(path: string, cause: unknown): unknown {
  return isSystem(cause)
    ? new MigrationError("N2I-E110", `cannot read ${path}: ${words(cause)}`, {
        cause,
        fix: "Let this user read it, or name another folder.",
      })
    : cause;
}

function isSystem(cause: unknown): cause is Error {
  return cause instanceof Error && "syscall" in cause && systemCode(cause) !== null;
}

/** `no space left on device (ENOSPC)`: without call and path, which the message names already. */
function words(cause: Error): string {
  const [, what] = /^[A-Z0-9]+: (.*?), /.exec(cause.message) ?? [];
  return what === undefined ? cause.message : `${what} (${systemCode(cause) ?? ""})`;
}
