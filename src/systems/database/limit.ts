import { createRequire } from "node:module";
import type { Socket } from "node:net";
import type { Knex } from "knex";
import type { DatabaseAddress } from "../../model/database.ts";

const require = createRequire(import.meta.url);

/** How long a server may be silent over one statement. */
export interface Patience {
  /** Milliseconds; then the connection is given up. */
  readonly limit: number;
  /** Said halfway, for people. */
  readonly tell: (text: string) => void;
}

export const PATIENCE: Patience = { limit: 120_000, tell: () => {} };

/** Milliseconds for what is still to be said to a server that was silent: it holds the end up. */
const PARTING = 2000;

/** Servers that were silent over a statement, by host and port: other connections to them are no better. */
const silent = new Set<string>();

/** A driver's raw connection, as far as it is ended here: mysql2's and pg's own socket. */
interface Raw {
  readonly stream?: Socket;
  readonly connection?: { readonly stream?: Socket };
}

/** Ends a connection without a word to the server, which would not listen. */
export function hangUp(raw: unknown): void {
  // Which of the two drivers it is shows in what it has; SQLite's has neither.
  const { stream, connection } = raw as Raw;
  (stream ?? connection?.stream)?.destroy();
}

/**
 * Waits for an answer to one statement, no longer than the patience allows.
 *
 * @throws Error with the code ESILENT when none came: whether the statement was done is not known
 */
async function answered<T>(
  work: Promise<T>,
  raw: unknown,
  { host, socket, port, shown }: DatabaseAddress,
  { limit, tell }: Patience,
): Promise<T> {
  const server = `${host ?? socket}:${port}`;
  const wait = silent.has(server) ? Math.min(PARTING, limit) : limit;
  const seconds = (part: number): string => `${Math.round(part / 100) / 10} s`;
  let timers: readonly NodeJS.Timeout[] = [];
  const gaveUp = new Promise<never>((_, reject) => {
    const notice = (): void =>
      tell(
        `No answer from ${shown} for ${seconds(limit / 2)}; it is given up after ${seconds(limit)} (--db-timeout).`,
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

/** What is said to a server otherwise than by a statement: an option of knex's `raw`, called with the driver's connection. */
export type Through = (connection: unknown) => Promise<unknown>;

/** A statement as knex compiles it; `response` is what it answers with. */
interface Statement {
  readonly options?: { readonly through?: Through };
}

/** pg's client, as far as a password is sent by it. */
interface Asked {
  readonly ssl: unknown;
  readonly connection: { emit(event: "error", error: Error): void; readonly stream: Socket };
  _handleAuthCleartextPassword(message: unknown): void;
}

/**
 * pg, but that a password goes to nobody in clear who merely asks for it: over a line that is not
 * encrypted that may be anybody. mysql2 refuses by itself.
 */
function guarded(driver: object): object {
  // The driver's own module; its type knows nothing of how it logs in.
  const { Client } = driver as { readonly Client: new (...settings: unknown[]) => Asked };
  class Guarded extends Client {
    override _handleAuthCleartextPassword(message: unknown): void {
      if (this.ssl) {
        super._handleAuthCleartextPassword(message);
        return;
      }
      const error = new Error("the server wants the password in clear");
      this.connection.emit("error", Object.assign(error, { code: "ECLEAR" }));
      this.connection.stream.destroy();
    }
  }
  return { ...driver, Client: Guarded };
}

/** knex's dialect of a server, with a limit on every statement, inside transactions and out. */
export function limitedClient(address: DatabaseAddress, patience: Patience): typeof Knex.Client {
  // knex's types leave out what its dialects override.
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
      return answered(work, connection, address, patience);
    }
  }
  return Limited as unknown as typeof Knex.Client;
}
