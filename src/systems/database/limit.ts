import { createRequire } from "node:module";
import type { Socket } from "node:net";
import type { Knex } from "knex";
import type { DatabaseAddress } from "../../model/database.ts";

const require = createRequire(import.meta.url);

export interface DatabaseTimeout {
  /** In milliseconds, after which the connection is closed. */
  readonly limit: number;
  /** Receives a message after half of the time. */
  readonly report: (text: string) => void;
}

export const TIMEOUT: DatabaseTimeout = { limit: 120_000, report: () => {} };

/**
 * Milliseconds for further statements after a timeout, because they delay the end of the command.
 */
const PARTING = 2000;

/** By host and port. Other connections to a silent server would also time out. */
const silent = new Set<string>();

/** The sockets of mysql2's and pg's connections. */
interface Raw {
  readonly stream?: Socket;
  readonly connection?: { readonly stream?: Socket };
}

/** Closes the socket without a protocol message, because the server does not respond. */
export function hangUp(raw: unknown): void {
  // The properties identify the driver. SQLite's driver has neither.
  const { stream, connection } = raw as Raw;
  (stream ?? connection?.stream)?.destroy();
}

/** @throws Error with the code ESILENT after the timeout, when the outcome is unknown */
async function answered<T>(
  work: Promise<T>,
  raw: unknown,
  { host, socket, port, label }: DatabaseAddress,
  { limit, report }: DatabaseTimeout,
): Promise<T> {
  const server = `${host ?? socket}:${port}`;
  const wait = silent.has(server) ? Math.min(PARTING, limit) : limit;
  const seconds = (part: number): string => `${Math.round(part / 100) / 10} s`;
  let timers: readonly NodeJS.Timeout[] = [];
  const gaveUp = new Promise<never>((_, reject) => {
    const notice = (): void =>
      report(
        `No answer from ${label} for ${seconds(limit / 2)}. The connection is closed after ${seconds(limit)} (--db-timeout).`,
      );
    const end = (): void => {
      silent.add(server);
      reject(Object.assign(new Error(`no answer for ${seconds(wait)}`), { code: "ESILENT" }));
      hangUp(raw);
    };
    timers = [...(wait === limit ? [setTimeout(notice, limit / 2)] : []), setTimeout(end, wait)];
  });
  try {
    const answer = await Promise.race([work, gaveUp]);
    silent.delete(server);
    return answer;
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}

interface Dialect {
  _driver(): unknown;
  _query(connection: unknown, statement: object): Promise<unknown>;
}

/**
 * A statement compiled by knex, which reads its result from `response`. `through` is a protocol
 * exchange on the driver's connection instead of a statement: an option of knex's `raw`.
 */
interface Statement {
  readonly options?: { readonly through?: (connection: unknown) => Promise<unknown> };
}

/** The parts of pg's client that send a password. */
interface PasswordRequest {
  readonly ssl: unknown;
  readonly connection: { emit(event: "error", error: Error): void; readonly stream: Socket };
  _handleAuthCleartextPassword(message: unknown): void;
}

/** Sends no clear-text password over an unencrypted connection. mysql2 itself refuses to. */
function guarded(driver: object): object {
  // The module's type omits the login.
  const { Client } = driver as { readonly Client: new (...settings: unknown[]) => PasswordRequest };
  class Guarded extends Client {
    override _handleAuthCleartextPassword(message: unknown): void {
      if (this.ssl) {
        super._handleAuthCleartextPassword(message);
        return;
      }
      const error = new Error("the server requires the password in clear text");
      this.connection.emit("error", Object.assign(error, { code: "ECLEAR" }));
      this.connection.stream.destroy();
    }
  }
  return { ...driver, Client: Guarded };
}

/** knex's dialect with a timeout for every statement, inside and outside transactions. */
export function limitedClient(
  address: DatabaseAddress,
  timeout: DatabaseTimeout,
): typeof Knex.Client {
  // knex's types omit the overridden methods.
  const Base = (
    address.engine === "mysql"
      ? require("knex/lib/dialects/mysql2/index.js")
      : require("knex/lib/dialects/postgres/index.js")
  ) as new () => Dialect;
  const clear = address.engine === "mysql" || address.tls === null || address.socket !== null;
  class Limited extends Base {
    override _driver(): unknown {
      const driver = super._driver();
      return clear || typeof driver !== "object" || driver === null ? driver : guarded(driver);
    }
    override _query(connection: unknown, statement: object): Promise<unknown> {
      const { through } = (statement as Statement).options ?? {};
      const work =
        through === undefined
          ? super._query(connection, statement)
          : through(connection).then((response) => Object.assign(statement, { response }));
      return answered(work, connection, address, timeout);
    }
  }
  return Limited as unknown as typeof Knex.Client;
}
