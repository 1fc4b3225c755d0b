import { setTimeout as sleep } from "node:timers/promises";
import type { Knex } from "knex";
import { connect } from "../connect.ts";
import type { Server } from "../server.ts";
import type { IronicAt } from "./start.ts";

const PACE_MS = 200;

/** Tables of nodes and what hangs on them, in an order that foreign keys allow. */
const TABLES = [
  ...["node_traits", "node_tags", "bios_settings", "node_history", "node_inventory"],
  ...["volume_connectors", "volume_targets", "ports", "portgroups", "nodes"],
] as const;

/** Waits until no other test works with this Ironic on MariaDB. The result empties it and lets it go. */
export async function alone(at: IronicAt, server: Server): Promise<() => Promise<void>> {
  // The guard of the file ends a wait for a test that hangs.
  for (;;) {
    const end = await kept(connect({ ...server, database: at.database }));
    if (end !== null) return end;
    await sleep(PACE_MS);
  }
}

/** Null when another has it. */
async function kept(db: Knex): Promise<(() => Promise<void>) | null> {
  // Of a connection of its own, with which it dies.
  const held = await db.transaction();
  const [rows] = await held.raw("SELECT GET_LOCK(DATABASE(), 0) AS got");
  const end = async (): Promise<void> => {
    await held.rollback();
    await db.destroy();
  };
  if (Number(rows[0].got) !== 1) {
    await end();
    return null;
  }
  return async () => {
    try {
      await emptied(db);
    } finally {
      await end();
    }
  };
}

async function emptied(db: Knex): Promise<void> {
  for (const table of TABLES) await db(table).delete();
}
