import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../src/run/files/package-root.ts";

/** A login whose every number is fixed, as fixtures/ipmi/logins.json has it; bytes in hex. */
export interface FixedLogin {
  readonly suite: number;
  readonly user: string;
  readonly password: string;
  readonly kg: string | null;
  readonly role: number;
  readonly console_session: string;
  readonly bmc_session: string;
  readonly console_random: string;
  readonly bmc_random: string;
  readonly guid: string;
  readonly rakp2_mac: string;
  readonly rakp3_mac: string;
  readonly rakp4_icv: string;
  readonly sik: string;
  readonly k1: string;
  readonly k2: string;
  readonly open_request: string;
  readonly rakp1: string;
  readonly message: string;
  readonly iv: string;
  readonly sealed: string;
}

/** What two programs said to each other; passwords are throwaway ones. */
export interface Exchange {
  readonly shows: string;
  readonly user: string;
  readonly password: string;
  readonly kg: string | null;
  /** Whether the BMC has this password, and this Kg. */
  readonly password_fits: boolean;
  readonly kg_fits: boolean;
  /** `> ` from the console, `< ` from the BMC, then hex. */
  readonly datagrams: readonly string[];
}

export function fixedLogins(): readonly FixedLogin[] {
  // Our own file, in the form above.
  return read(fixture("logins.json")) as readonly FixedLogin[];
}

export function exchanges(): readonly Exchange[] {
  // Our own file, in the form above.
  return read(fixture("exchanges.json")) as readonly Exchange[];
}

export function captured(): readonly Buffer[] {
  return exchanges().flatMap(({ datagrams }) => datagrams.map((one) => bytes(one.slice(2))));
}

export function bytes(hex: string): Buffer {
  return Buffer.from(hex, "hex");
}

function fixture(name: string): string {
  return join(packageRoot(), "fixtures", "ipmi", name);
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}
