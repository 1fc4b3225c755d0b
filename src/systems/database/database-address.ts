import { isUtf8 } from "node:buffer";
import { MigrationError } from "../../lib/error.ts";
import { OSLO_FILE_LIMIT, type OsloFile, osloConfig } from "../../lib/files/oslo.ts";
import { readSmallFile } from "../../lib/files/text-file.ts";
import type { DatabaseAddress } from "../../model/database.ts";
import { type Fault, toAddress } from "./database-url.ts";

interface DatabaseRole {
  /** For messages: `--nova-db`. */
  readonly option: string;
  readonly section: string;
  readonly key: string;
}

type Environment = { readonly [name: string]: string | undefined };

/** Bytes. */
const URL_FILE_LIMIT = 64 * 1024;

/** Earlier names of [database] connection, which oslo.db still reads. @source oslo_db/options.py */
const OLD_NAMES = [
  ["DEFAULT", "sql_connection"],
  ["database", "sql_connection"],
  ["sql", "connection"],
] as const;

/**
 * Reads an address without a password, `file:PATH`, `env:NAME`, or a service's
 * `conf:PATH[,PATH...]`.
 *
 * @throws MigrationError N2I-E100 without an address, N2I-E101 if a password is on the command
 *   line, N2I-E110 if a file is unreadable, else N2I-E102; each names the option, none contains a
 *   password
 * @source facts/ux.md 2.6, 2.11
 */
export async function readDatabaseAddress(
  spec: string | undefined,
  role: DatabaseRole,
  env: Environment,
): Promise<DatabaseAddress> {
  if (spec === undefined) throw new MigrationError("N2I-E100", `the command needs ${role.option}`);
  const [, form, rest] = /^(file|env|conf):(.*)$/s.exec(spec) ?? [];
  const fault = faults(role.option);
  switch (form) {
    case "file":
      return await fromFile(rest ?? "", role, fault);
    case "env":
      return fromEnvironment(rest ?? "", role, env, fault);
    case "conf":
      return await fromConfiguration(rest ?? "", role, fault);
    default: {
      const { address, secret } = toAddress(spec, fault);
      if (!secret) return address;
      throw new MigrationError("N2I-E101", `${role.option}: the address contains a password`);
    }
  }
}

function faults(about: string, fix?: string): Fault {
  return (what) =>
    new MigrationError("N2I-E102", `${about}: ${what}`, fix === undefined ? {} : { fix });
}

async function fromFile(path: string, role: DatabaseRole, fault: Fault): Promise<DatabaseAddress> {
  const bytes = await readSmallFile(
    checkedPath(path, "file:", fault),
    URL_FILE_LIMIT,
    "N2I-E110",
    `${role.option}: `,
  );
  const refuse = faults(`${role.option}: ${path}`);
  if (!isUtf8(bytes)) throw refuse("the address is not UTF-8; percent-encode it");
  return toAddress(new TextDecoder("utf-8").decode(bytes).trim(), refuse).address;
}

function fromEnvironment(
  name: string,
  { option }: DatabaseRole,
  env: Environment,
  fault: Fault,
): DatabaseAddress {
  // An invalid name may be an address with a password, so messages omit it.
  if (!/^[A-Za-z_]\w*$/.test(name)) throw fault("env: requires the name of a variable");
  const url = Object.hasOwn(env, name) ? env[name]?.trim() : undefined;
  if (url === undefined || url === "") throw fault(`the environment variable ${name} is not set`);
  return toAddress(url, faults(`${option}: environment variable ${name}`)).address;
}

async function fromConfiguration(
  list: string,
  role: DatabaseRole,
  fault: Fault,
): Promise<DatabaseAddress> {
  const { option, section, key } = role;
  const files: OsloFile[] = [];
  for (const name of list.split(",").map((path) => checkedPath(path, "conf:", fault)))
    files.push({
      name,
      bytes: await readSmallFile(name, OSLO_FILE_LIMIT, "N2I-E110", `${option}: `),
    });
  const { url, location } = inForce(files, role, fault);
  if (url === "")
    throw faults(
      option,
      `Set [${section}] ${key} there, or pass the address in another way.`,
    )(`${list} does not set [${section}] ${key}`);
  const refuse = faults(`${option}: ${location}`);
  const relative = /^sqlite(?:\+\w+)?:\/\/\/\$\{?(\w+)/i.exec(url)?.[1];
  if (relative !== undefined) throw refuse(`no option sets $${relative}: write the complete path`);
  return toAddress(url, refuse).address;
}

function inForce(files: readonly OsloFile[], { section, key }: DatabaseRole, fault: Fault) {
  try {
    const config = osloConfig(files);
    const old = section === "database" && key === "connection" ? OLD_NAMES : [];
    for (const [group, name] of [[section, key] as const, ...old]) {
      const url = config.get(group, name)?.trim() ?? "";
      if (url !== "") return { url, location: config.where(group, name) ?? "" };
    }
    return { url: "", location: "" };
  } catch (cause) {
    if (!(cause instanceof MigrationError)) throw cause;
    const { message } = fault(cause.message);
    throw new MigrationError("N2I-E102", message, { cause, fix: cause.fix });
  }
}

/**
 * A path that looks like an address may contain a password, so it is neither opened nor printed.
 */
function checkedPath(path: string, form: string, fault: Fault): string {
  if (path === "" || (!/^(\.|\/(?!\/))/.test(path) && /:.*@|:\/\//s.test(path)))
    throw fault(`${form} requires the path of a file`);
  return path;
}
