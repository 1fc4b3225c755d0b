import { test } from "node:test";
import { needsIronic } from "../lab/ironic/with-ironic.ts";
import { adopted } from "./adopted.ts";

test("20 machines of every state are adopted over REST on MariaDB, none is switched, and a rollback deletes them", async (t) =>
  adopted(t, await needsIronic(t)));
