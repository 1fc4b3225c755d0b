import { counted } from "../../lib/text.ts";
import { LEASE_COLUMNS, withoutLeases } from "../../model/nova/leases.ts";
import { closing, openRole } from "../../run/databases.ts";
import type { Sink } from "../../run/sink.ts";
import { columnNames } from "../../systems/database/identity.ts";
import { lockTarget } from "../../systems/database/target-lock.ts";
import { extendSchema, leaseParts, revertSchema } from "../leases/schema.ts";

interface SchemaOptions {
  readonly novaBmDb: string;
}

/** @returns whether the extension is complete */
export function leaseSchemaStatus(
  { novaBmDb }: SchemaOptions,
  sink: Pick<Sink, "result">,
): Promise<boolean> {
  return closing(async (keep) => {
    const database = keep(await openRole("nova-bm-db", novaBmDb, { readOnly: true }));
    const { version, columns, tables, missing } = await leaseParts(database);
    const parts = [...tables, ...columns.map(ofNodes)];
    const columnCount = withoutLeases(await columnNames(database, "bm_nodes")).length;
    sink.result(
      `${database.label}: nova_bm version ${version}, ${counted(columnCount, "column")} in bm_nodes without leases.`,
    );
    sink.result(`Present: ${parts.join(", ") || "no lease tables or columns"}.`);
    if (missing.length > 0) sink.result(`Missing: ${missing.map(qualified).join(", ")}.`);
    return missing.length === 0;
  });
}

export function extendNovaBm(options: SchemaOptions, sink: Pick<Sink, "result">): Promise<void> {
  return changing(options, async (database) => {
    const added = await extendSchema(database);
    sink.result(
      added.length === 0
        ? `Nothing to add: nova_bm of ${database.label} is already extended.`
        : `Added to nova_bm of ${database.label}: ${added.map(qualified).join(", ")}. Its version is 10, as before.`,
    );
  });
}

export function revertNovaBm(
  options: SchemaOptions,
  sink: Pick<Sink, "confirm" | "result">,
): Promise<void> {
  return changing(options, async (database) => {
    const { tables, columns } = await leaseParts(database);
    const parts = [...tables, ...columns].map(qualified).join(", ");
    if (parts === "")
      return sink.result(`Nothing to remove: nova_bm of ${database.label} is not extended.`);
    await sink.confirm(`Remove ${parts} from nova_bm of ${database.label}?`);
    await revertSchema(database);
    sink.result(`Removed from nova_bm of ${database.label}: ${parts}.`);
  });
}

function changing(
  { novaBmDb }: SchemaOptions,
  work: (database: Awaited<ReturnType<typeof openRole>>) => Promise<void>,
): Promise<void> {
  return closing(async (keep) => {
    const database = keep(await openRole("nova-bm-db", novaBmDb, { readOnly: false }));
    const lock = await lockTarget(database);
    try {
      await work(database);
    } finally {
      await lock.release();
    }
  });
}

const COLUMNS: ReadonlySet<string> = new Set(LEASE_COLUMNS.map(({ name }) => name));

function qualified(name: string): string {
  return COLUMNS.has(name) ? ofNodes(name) : name;
}

function ofNodes(column: string): string {
  return `bm_nodes.${column}`;
}
