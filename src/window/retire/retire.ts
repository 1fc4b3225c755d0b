import { MigrationError } from "../../lib/error.ts";
import type { Reach } from "../../migrate/flavors/flavor-api.ts";
import type { VerifyAsked } from "../../migrate/verify/verify.ts";
import { closing, openRole } from "../../run/databases.ts";
import { inRun } from "../../run/run.ts";
import type { Sink } from "../../run/sink.ts";
import { describeTables } from "../../systems/nova-bm/describe.ts";
import { dropStatements, dumpCommand } from "./conditions.ts";
import { retireGates } from "./retire-gates.ts";

export interface RetireWords extends Omit<VerifyAsked, "allRows" | "final">, Reach {
  readonly novaBmDb: string;
}

/**
 * Checks whether nova_bm may be dropped, and prints the commands that dump and drop it. Changes nothing.
 *
 * @throws MigrationError N2I-E340 with every condition that does not hold
 */
export function retire(words: RetireWords, sink: Sink): Promise<void> {
  return inRun(words.run, "retire", { kind: "migration" }, (run) =>
    closing(async (keep) => {
      const bm = keep(await openRole("nova-bm-db", words.novaBmDb, { readOnly: true }));
      const gates = await retireGates(run, bm, { ...words, allRows: false, final: false }, sink);
      const shut = gates.flatMap(({ gate, why }) => (why === null ? [] : [`${gate}: no, ${why}`]));
      if (shut.length > 0) throw new MigrationError("N2I-E340", shut.join("; "));
      sink.result("Dump nova_bm. The dump contains passwords:");
      sink.result(dumpCommand(bm.address));
      sink.result("Once you need no rollback any more, drop its tables:");
      for (const statement of dropStatements(await describeTables(bm))) sink.result(statement);
      sink.result("After that, restore the dump before you roll back.");
    }),
  );
}
