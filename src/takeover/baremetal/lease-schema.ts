import { counted } from "../../lib/text.ts";
import { LEASE_COLUMNS, withoutLeases } from "../../model/nova/leases.ts";
import { closing, openRole } from "../../run/databases.ts";
import type { Sink } from "../../run/sink.ts";
import { columnNames } from "../../systems/database/identity.ts";
import type { Database } from "../../systems/database/open.ts";
import { lockTarget } from "../../systems/database/target-lock.ts";
import { extendSchema, leaseParts, revertSchema } from "../leases/schema.ts";

interface SchemaOptions {
  readonly change: "extend" | "status" | "revert";
  readonly novaBmDb: string;
}

/** @returns false if `status` finds that parts are missing */
export function leaseSchema({ change, novaBmDb }: SchemaOptions, sink: Sink): Promise<boolean> {
  return closing(async (keep) => {
    const readOnly = change === "status";
    const database = keep(await openRole("nova-bm-db", novaBmDb, { readOnly }));
    if (change === "status") return isComplete(database, sink);
    const lock = await lockTarget(database);
    try {
      await (change === "extend" ? extend : revert)(database, sink);
    } finally {
      await lock.release();
    }
    return true;
  });
}

async function isComplete(database: Database, { result }: Sink): Promise<boolean> {
  const { version, columns, tables, missing } = await leaseParts(database);
  const columnCount = withoutLeases(await columnNames(database, "bm_nodes")).length;
  result(
    `${database.label}: nova_bm version ${version}, ${counted(columnCount, "column")} in bm_nodes without leases.`,
  );
  result(`Present: ${qualified([...tables, ...columns]) || "no lease tables or columns"}.`);
  if (missing.length > 0) result(`Missing: ${qualified(missing)}.`);
  return missing.length === 0;
}

async function extend(database: Database, { result }: Sink): Promise<void> {
  const added = await extendSchema(database);
  result(
    added.length === 0
      ? `Nothing to add: nova_bm of ${database.label} is already extended.`
      : `Added to nova_bm of ${database.label}: ${qualified(added)}. Its version is 10, as before.`,
  );
}

async function revert(database: Database, { confirm, result }: Sink): Promise<void> {
  const { tables, columns } = await leaseParts(database);
  const parts = qualified([...tables, ...columns]);
  if (parts === "")
    return result(`Nothing to remove: nova_bm of ${database.label} is not extended.`);
  await confirm(`Remove ${parts} from nova_bm of ${database.label}?`);
  await revertSchema(database);
  result(`Removed from nova_bm of ${database.label}: ${parts}.`);
}

function qualified(names: readonly string[]): string {
  const isColumn = (name: string): boolean => LEASE_COLUMNS.some((column) => column.name === name);
  return names.map((name) => (isColumn(name) ? `bm_nodes.${name}` : name)).join(", ");
}
