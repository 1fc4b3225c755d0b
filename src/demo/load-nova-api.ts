import type { Knex } from "knex";
import type { Engine } from "../model/database.ts";
import type { Case } from "./case.ts";
import { createTables } from "./create-tables.ts";
import { loadTables } from "./load-tables.ts";

/** Builds nova_api as the case has it. */
export async function loadNovaApi(
  db: Knex,
  engine: Engine,
  { version = 67, flavors, extra_specs }: NonNullable<Case["nova_api"]>,
): Promise<void> {
  await createTables(db, loadTables("nova_api", version), { engine });
  for (const row of flavors) await db("flavors").insert(row);
  for (const row of extra_specs) await db("flavor_extra_specs").insert(row);
  // Rows with ids of their own leave PostgreSQL's counter behind, as no nova does.
  if (engine === "postgresql")
    await db.raw(
      "SELECT setval(pg_get_serial_sequence('flavor_extra_specs', 'id'), max(id)) FROM flavor_extra_specs",
    );
}
