import { createHash } from "node:crypto";
import { tableNames } from "../../src/systems/database/identity.ts";
import type { Database } from "../../src/systems/database/open.ts";
import { ask, plain } from "../../src/systems/database/rows.ts";

/** Without generated ids it is equal before a load and after its rollback. */
export async function digestDatabase(database: Database, ids = false): Promise<string> {
  const hash = createHash("sha256");
  for (const table of [...(await tableNames(database))].sort()) {
    const rows = await ask(database, `reading ${table}`, `SELECT * FROM ${table}`);
    const lines = rows.map((row) =>
      JSON.stringify(
        Object.entries(row)
          .filter(([name]) => ids || (name !== "id" && name !== "node_id"))
          .map(([name, value]) => [name, plain(value)])
          .sort(([left], [right]) => (String(left) < String(right) ? -1 : 1)),
      ),
    );
    hash.update(`${table}\n${lines.sort().join("\n")}\n`);
  }
  return hash.digest("hex");
}
