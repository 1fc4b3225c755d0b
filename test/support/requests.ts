import type { Knex } from "knex";

/** The tables of Nova's requests, as far as they are read. */
export async function requestsIn(db: Knex): Promise<void> {
  await db.schema.createTable("instance_actions", (table) => {
    table.increments("id");
    table.datetime("created_at", { useTz: false, precision: 0 });
    table.string("action");
    table.string("instance_uuid", 36);
    table.datetime("start_time", { useTz: false, precision: 0 });
    table.datetime("finish_time", { useTz: false, precision: 0 });
    table.integer("deleted").defaultTo(0);
  });
  await db.schema.createTable("instance_actions_events", (table) => {
    table.increments("id");
    table.datetime("created_at", { useTz: false, precision: 0 });
    table.integer("action_id");
    table.string("event");
    table.integer("deleted").defaultTo(0);
  });
}
