import { MigrationError } from "../../model/error.ts";
import { readSmallFile } from "../config/text-file.ts";

/** Where a broker's management API is, and the login it wants. */
export interface BrokerAddress {
  /** Without login, path and secret: for people. */
  readonly shown: string;
  /** `https://host:15671`. */
  readonly origin: string;
  readonly vhost: string;
  readonly user: string;
  /** A function, so that it cannot print. */
  readonly password: () => string;
}

type Environment = { readonly [name: string]: string | undefined };

const FORM = {
  fix: "Use file:PATH or env:NAME, with https://USER:PASSWORD@HOST:15671/VHOST in it.",
};

/** Bytes. */
const LONGEST = 64 * 1024;

/**
 * The management API that `--rabbit-url` names: `file:PATH` or `env:NAME` that hold a URL with its password. It
 * lets nobody in without one.
 *
 * @throws MigrationError N2I-E101 for a password on the command line, N2I-E110 for a file that cannot be
 *   read, N2I-E100 for every other fault; none repeats what may hold a password
 */
export async function readBrokerAddress(spec: string, env: Environment): Promise<BrokerAddress> {
  const [, form, rest = ""] = /^(file|env):(.*)$/s.exec(spec) ?? [];
  if (form === undefined) {
    const { password } = parsed(spec, "--rabbit-url");
    if (password() === "") throw wrong("--rabbit-url: an address has no password in it");
    throw new MigrationError("N2I-E101", "--rabbit-url: the address holds a password", FORM);
  }
  if (form === "file") {
    const bytes = await readSmallFile(rest, LONGEST, "N2I-E110", "--rabbit-url: ");
    return parsed(Buffer.from(bytes).toString("utf8").trim(), `--rabbit-url: ${rest}`);
  }
  if (!/^[A-Za-z_]\w*$/.test(rest)) throw wrong("--rabbit-url: env: wants the name of a variable");
  const url = env[rest]?.trim() ?? "";
  if (url === "") throw wrong(`--rabbit-url: the environment variable ${rest} is not set`);
  return parsed(url, `--rabbit-url: environment variable ${rest}`);
}

function parsed(text: string, where: string): BrokerAddress {
  if (!URL.canParse(text)) throw wrong(`${where}: the address cannot be read`);
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw wrong(`${where}: the management API is spoken with over http or https`);
  const password = decoded(url.password, where);
  const vhost = decoded(url.pathname.replace(/^\//, ""), where);
  return {
    ...{ shown: url.origin, origin: url.origin, vhost: vhost === "" ? "/" : vhost },
    ...{ user: decoded(url.username, where), password: () => password },
  };
}

function decoded(text: string, where: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong(`${where}: what is behind a % is no two hex digits`);
  }
}

function wrong(what: string): MigrationError {
  return new MigrationError("N2I-E100", what, FORM);
}
