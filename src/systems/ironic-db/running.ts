import { MigrationError } from "../../lib/error.ts";
import { type JsonObject, objectOf, parsedJson } from "../../lib/json.ts";
import {
  type ExistingNics,
  gatherNics,
  type Nic,
  type RunningNode,
  vifOf,
} from "../../model/ironic/manage.ts";
import { columnNames, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { inOrder, type RowOf, sql } from "../database/read.ts";
import { isTrue, string, text } from "../database/rows.ts";

/** @throws MigrationError N2I-E202 for another database, N2I-E204 if it is too old */
export async function openRunning(database: Database) {
  const tables = await tableNames(database);
  const missing = ["nodes", "ports"].filter((table) => !tables.has(table));
  if (missing.length > 0)
    throw new MigrationError(
      "N2I-E202",
      `--ironic-db ${database.label} is not an Ironic database: it has no ${missing.join(", ")}`,
    );
  const of = async (table: string): Promise<ReadonlySet<string>> =>
    new Set(tables.has(table) ? await columnNames(database, table) : []);
  const [nodes, ports, groups] = [await of("nodes"), await of("ports"), await of("portgroups")];
  if (!nodes.has("resource_class"))
    throw new MigrationError(
      "N2I-E204",
      `--ironic-db ${database.label} has no resource classes, which came with Newton`,
    );
  return {
    async nics(): Promise<ExistingNics> {
      const gathered = gatherNics();
      await readNics(database, { is: "port", columns: ports }, gathered);
      if (groups.size > 0) await readNics(database, { is: "portgroup", columns: groups }, gathered);
      return gathered;
    },
    nodes: (nics: ExistingNics["of"], { all }: { readonly all: boolean }) =>
      readNodes(database, nodes, nics, all ? "1 = 1" : CHOSEN),
  };
}

/** The same filters as over REST. */
const CHOSEN =
  "provision_state = 'active' AND instance_uuid IS NULL AND (maintenance IS NULL OR NOT maintenance)";

function column<R extends (value: unknown) => unknown>(
  columns: ReadonlySet<string>,
  name: string,
  reader: R,
): R | readonly [string, R] {
  return columns.has(name) ? reader : sql("NULL", reader);
}

async function readNics(
  database: Database,
  { is, columns }: { readonly is: Nic["is"]; readonly columns: ReadonlySet<string> },
  nics: ReturnType<typeof gatherNics>,
): Promise<void> {
  const fields = {
    ...{ uuid: string, address: filled, extra: json },
    node: sql(`(SELECT n.uuid FROM nodes n WHERE n.id = ${is}s.node_id)`, string),
    internal_info: column(columns, "internal_info", json),
  };
  for await (const page of inOrder(database, fields, `${is}s`, "1 = 1"))
    for (const { uuid, address, extra, node, internal_info } of page)
      nics.put(node, { is, uuid, address, vif: vifOf(internal_info, extra) });
}

async function* readNodes(
  database: Database,
  columns: ReadonlySet<string>,
  nics: ExistingNics["of"],
  where: string,
): AsyncGenerator<readonly RunningNode[]> {
  const allocation = "(SELECT a.uuid FROM allocations a WHERE a.id = nodes.allocation_id)";
  const fields = {
    ...{ uuid: string, name: filled, power_state: filled, provision_state: filled },
    ...{ instance_uuid: filled, resource_class: filled, last_error: filled, created_at: filled },
    ...{ maintenance: isTrue, maintenance_reason: filled },
    ...{ properties: json, instance_info: json, extra: json },
    allocation_uuid: sql(columns.has("allocation_id") ? allocation : "NULL", filled),
    retired: column(columns, "retired", isTrue),
  };
  for await (const page of inOrder(database, fields, "nodes", where))
    yield page.map((row: RowOf<typeof fields>) => ({ ...row, nics: nics(row.uuid) }));
}

function filled(value: unknown): string | null {
  return text(value) || null;
}

function json(value: unknown): JsonObject {
  return objectOf(parsedJson(text(value) ?? ""));
}
