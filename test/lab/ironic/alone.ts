import type { Knex } from "knex";
import { connect } from "../connect.ts";
import type { Server } from "../server.ts";
import type { IronicAt } from "./start.ts";

const PATIENCE_SECONDS = 600;

/** Tables of nodes and what hangs on them, in an order that foreign keys allow. */
const TABLES = [
  ...["node_traits", "node_tags", "bios_settings", "node_history", "node_inventory"],
  ...["volume_connectors", "volume_targets", "ports", "portgroups", "nodes"],
] as const;

/**
 * Waits until nobody else works with an Ironic on MariaDB and keeps it until the end it returns is
 * called, which leaves it without a node, whatever happened.
 */
export async function alone(at: IronicAt, server: Server): Promise<() => Promise<void>> {
  const db = connect({ ...server, database: at.database });
  // Of a connection of its own, with which it dies.
  const held = await db.transaction();
  await held.raw("SELECT GET_LOCK(DATABASE(), ?)", [PATIENCE_SECONDS]);
  return async () => {
    try {
      await emptied(db);
    } finally {
      await held.rollback();
      await db.destroy();
    }
  };
}

async function emptied(db: Knex): Promise<void> {
  for (const table of TABLES) await db(table).delete();
}
