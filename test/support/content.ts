import type { Release } from "../../src/model/ironic/target.ts";
import type { Database } from "../../src/systems/database/open.ts";
import { select } from "../../src/systems/database/rows.ts";

/**
 * What nodes and ports hold, the same on every engine: numbered ids left out, a port's node by its
 * uuid, booleans as booleans. Text, JSON and times must be the same to the letter.
 */
export async function contentOf(database: Database, release: Release): Promise<string> {
  const read = (sql: string) => database.run("reading for a test", () => select(database, sql));
  const nodes = await read("SELECT * FROM nodes");
  const uuids = new Map(nodes.map(({ id, uuid }) => [String(id), String(uuid)]));
  const booleans = new Set(
    [...release.node, ...release.port]
      .filter(({ type }) => type === "boolean")
      .map(({ name }) => name),
  );
  const value = (name: string, raw: unknown): unknown => {
    if (name === "node_id") return uuids.get(String(raw)) ?? "no such node";
    if (booleans.has(name)) return raw === true || Number(raw) === 1;
    return String(raw);
  };
  const lines = (rows: typeof nodes): string =>
    rows
      .map((row) =>
        JSON.stringify(
          Object.keys(row)
            .filter((name) => name !== "id")
            .sort()
            .map((name) => [name, value(name, row[name])]),
        ),
      )
      .sort()
      .join("\n");
  return `${lines(nodes)}\n\n${lines(await read("SELECT * FROM ports"))}`;
}
