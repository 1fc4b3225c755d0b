/** How a session is authenticated, signed and hidden. */
export interface Suite {
  readonly id: number;
  /** Hash of the login: RAKP-HMAC-SHA1 (1) or RAKP-HMAC-SHA256 (3). */
  readonly hash: "sha1" | "sha256";
  /** Bytes of a whole MAC, and of one cut as RAKP 4 and trailers have it. */
  readonly macLength: 20 | 32;
  readonly cutLength: 12 | 16;
  readonly signed: boolean;
  readonly encrypted: boolean;
  /** The algorithm numbers as Open Session names them: authentication, integrity, confidentiality. */
  readonly algorithms: readonly [number, number, number];
}

/** @source facts/ipmi.md 2.6; suite 0 has no login at all and is never asked for */
const SUITES: readonly Suite[] = [
  sha1(1, false, false),
  sha1(2, true, false),
  sha1(3, true, true),
  sha256(15, false, false),
  sha256(16, true, false),
  sha256(17, true, true),
];

/** Null for a suite this client does not speak: 0, those with MD5 and those with xRC4. */
export function suiteOf(id: number): Suite | null {
  return SUITES.find((suite) => suite.id === id) ?? null;
}

function sha1(id: number, signed: boolean, encrypted: boolean): Suite {
  const algorithms = [1, signed ? 1 : 0, encrypted ? 1 : 0] as const;
  return { id, hash: "sha1", macLength: 20, cutLength: 12, signed, encrypted, algorithms };
}

function sha256(id: number, signed: boolean, encrypted: boolean): Suite {
  const algorithms = [3, signed ? 4 : 0, encrypted ? 1 : 0] as const;
  return { id, hash: "sha256", macLength: 32, cutLength: 16, signed, encrypted, algorithms };
}
