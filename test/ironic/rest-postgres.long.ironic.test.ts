import { test } from "node:test";
import { withIronic } from "../lab/ironic/with-ironic.ts";
import { adopted } from "./adopted.ts";

test("20 machines of every state are adopted over REST on PostgreSQL, none is switched, and a rollback deletes them", async (t) =>
  adopted(t, await withIronic(t, "postgresql")));
