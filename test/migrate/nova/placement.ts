import type { TestContext } from "node:test";
import { type TestDatabase, withDatabase } from "../../lab/index.ts";

export async function placementDatabase(t: TestContext): Promise<TestDatabase> {
  const made = await withDatabase("sqlite", t);
  await made.db.schema.createTable("resource_providers", (table) => {
    table.integer("id");
    table.string("uuid");
    table.string("name");
  });
  await made.db.schema.createTable("allocations", (table) => {
    table.string("consumer_id");
    table.integer("resource_provider_id");
    table.integer("resource_class_id");
    table.integer("used");
  });
  return made;
}
