/** Longer names do not fit into RAKP 1; ipmitool refuses them. */
export const LONGEST_USER = 16;
/** IPMI 2.0's longest password and Kg. */
export const LONGEST_KEY = 20;

/** What a login is made of. `wipe` fills the secrets with zeros. */
export interface Credentials {
  readonly user: Buffer;
  readonly password: Buffer;
  readonly kg: Buffer | null;
  /** Whether ipmitool reads less than the whole password. */
  readonly cut: boolean;
}

/**
 * The password as `ipmitool -f` reads it from a file: fgets of 20 bytes, so up to the first LF,
 * then cut at the first CR, LF or TAB unless that is the very first byte. A NUL ends it.
 *
 * @source ipmitool lib/ipmi_main.c ipmi_password_file_read; facts/ipmi.md 5.5
 */
export function readAsFile(password: Buffer): Buffer {
  const line = password.indexOf(0x0a);
  const read = password.subarray(0, Math.min(LONGEST_KEY, line < 0 ? Infinity : line + 1));
  const end = read.indexOf(0x00);
  const text = end < 0 ? read : read.subarray(0, end);
  const stop = text.findIndex((byte) => byte === 0x09 || byte === 0x0a || byte === 0x0d);
  return Buffer.from(stop > 0 ? text.subarray(0, stop) : text);
}

/** Null when the user name cannot be used: too long, or with a NUL in it. */
export function credentials(
  user: string,
  password: string,
  kg: Uint8Array | null,
): Credentials | null {
  const name = Buffer.from(user, "utf8");
  if (name.length > LONGEST_USER || name.includes(0)) return null;
  const whole = Buffer.from(password, "utf8");
  const read = readAsFile(whole);
  const cut = read.length < whole.length;
  whole.fill(0);
  const key = kg === null ? null : Buffer.from(kg.subarray(0, LONGEST_KEY));
  return { user: name, password: read, kg: key, cut };
}

export function wipe({ password, kg }: Credentials): void {
  password.fill(0);
  kg?.fill(0);
}
