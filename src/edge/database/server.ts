import type { ServerFacts } from "../../model/check.ts";
import { identify } from "./identity.ts";
import type { Database } from "./open.ts";
import { integer, select, text } from "./rows.ts";

/** Milliseconds since 1970, by the server's own clock. */
const NOW: { readonly [engine in Database["engine"]]: string | null } = {
  mysql: "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED) AS now",
  postgresql: "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS bigint) AS now",
  sqlite: null,
};

/**
 * The server's clock against ours, and Galera's words of itself. The moment in the middle of the
 * question is taken for that of the answer.
 *
 * @param clock ours, milliseconds since 1970
 */
export async function readServer(
  database: Database,
  option: string,
  clock: () => number,
): Promise<ServerFacts> {
  const ask = (doing: string, sql: string) =>
    database.run(doing, () => select(database, database.knex, sql));
  const sql = NOW[database.engine];
  const asked = clock();
  const [row] = sql === null ? [] : await ask("asking for the time", sql);
  const now = integer(row?.now);
  const ahead = now === null ? null : now - Math.round((asked + clock()) / 2);
  const status =
    database.engine === "mysql"
      ? await ask("asking for Galera's state", "SHOW STATUS LIKE 'wsrep\\_%'")
      : [];
  const wsrep = Object.fromEntries(
    status.map(({ Variable_name, Value }) => [text(Variable_name) ?? "", text(Value) ?? ""]),
  );
  // A server built with Galera and in no cluster calls itself Disconnected.
  const clustered = !/^0*(-0*)*$/.test(wsrep.wsrep_cluster_state_uuid ?? "");
  const identity = await identify(database);
  const { clear, shown } = database;
  return { option, shown, clear, identity, ahead, wsrep: clustered ? wsrep : {} };
}
