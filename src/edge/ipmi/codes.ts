/** Completion codes in words. @source facts/ipmi.md 2.8 */
const CODES: { readonly [code: number]: string } = {
  128: "level not available for this user",
  129: "level above the user's or channel's limit",
  192: "node busy",
  193: "command not known",
  195: "timeout",
  196: "out of space",
  209: "firmware update in progress",
  210: "BMC initialisation in progress",
  211: "destination unavailable",
  212: "insufficient privilege",
  255: "unspecified error",
};

/** Asked again in the same session, after a pause: the four that Ironic retries. */
export function isTryAgain(code: number): boolean {
  return [0xc0, 0xc3, 0xc4, 0xd2].includes(code);
}

/** Not the BMC's last word: those, a firmware update, and what it cannot reach now. */
export function isBusy(code: number): boolean {
  return isTryAgain(code) || code === 0xd1 || code === 0xd3;
}

/** A late answer to a resend: what we wait for may still come. */
export const DUPLICATE = 0xcf;

/** Of Set Session Privilege Level: not for this user, above its limit; of any command: D4. */
export function isLevelRefused(code: number): boolean {
  return code === 0x80 || code === 0x81 || code === 0xd4;
}

/** `0xc0: node busy` */
export function codeWords(code: number): string {
  const words = CODES[code];
  return words === undefined ? hex(code) : `${hex(code)}: ${words}`;
}

export function hex(value: number): string {
  return `0x${value.toString(16).padStart(2, "0")}`;
}
