import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../src/run/files/package-root.ts";

/** Fields of a login that are bytes in hex. */
type Bytes =
  | ("console_session" | "bmc_session" | "console_random" | "bmc_random" | "guid")
  | ("rakp2_mac" | "rakp3_mac" | "rakp4_icv" | "sik" | "k1" | "k2")
  | ("open_request" | "rakp1" | "message" | "iv" | "sealed");

/** A login whose every number is fixed, as fixtures/ipmi/logins.json has it. */
export interface FixedLogin extends Readonly<Record<Bytes | "user" | "password", string>> {
  readonly suite: number;
  readonly kg: string | null;
  readonly role: number;
}

/** What two programs said to each other; passwords are throwaway ones. */
interface Exchange {
  /** `> ` from the console, `< ` from the BMC, then hex. */
  readonly datagrams: readonly string[];
}

export function fixedLogins(): readonly FixedLogin[] {
  // Our own file, in the form above.
  return read(fixture("logins.json")) as readonly FixedLogin[];
}

export function captured(): readonly Buffer[] {
  // Our own file, in the form above.
  const exchanges = read(fixture("exchanges.json")) as readonly Exchange[];
  return exchanges.flatMap(({ datagrams }) => datagrams.map((one) => bytes(one.slice(2))));
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
