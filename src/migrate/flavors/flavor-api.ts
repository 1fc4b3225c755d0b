import { MigrationError } from "../../lib/error.ts";
import type { NovaIdentity } from "../../model/nova/nova-plan.ts";
import type { FlavorRows } from "../../model/nova/nova-rows.ts";
import { closing, type Keep, openRole } from "../../run/databases.ts";
import { failpoint } from "../../run/failpoint.ts";
import { readTransaction } from "../../systems/database/open.ts";
import { committed } from "../../systems/database/write.ts";
import { readFlavorRows } from "../../systems/nova-db/flavors.ts";
import { identifyNovaApi } from "../../systems/nova-db/plan-open.ts";
import { createNovaTarget } from "../../systems/nova-db/target.ts";
import { checkNova } from "../hosts/nova-target.ts";

export interface ConnectionOptions {
  readonly novaDb?: string;
  readonly novaApiDb?: string;
}

export type FlavorApi = Awaited<ReturnType<typeof openFlavorApi>>;

/**
 * Opens the nova_api database of a plan. Null if the plan's flavors are in nova.
 * @throws MigrationError N2I-E311 if the database is missing, N2I-E300 if it is another one
 */
export async function reopenFlavorApi(
  planned: NovaIdentity | undefined,
  { novaApiDb }: ConnectionOptions,
  readOnly: boolean,
  keep: Keep,
): Promise<FlavorApi | null> {
  if (planned === undefined) return null;
  if (novaApiDb === undefined)
    throw new MigrationError("N2I-E311", "the plan changes flavors in nova_api", {
      fix: "Specify --nova-api-db.",
    });
  const opened = await openFlavorApi(novaApiDb, readOnly, keep);
  checkNova(planned, opened.identity, "other flavors");
  return opened;
}

/** @throws MigrationError N2I-E1.., N2I-E2.. if the database cannot be opened */
export async function openFlavorApi(spec: string, readOnly: boolean, keep: Keep) {
  const database = keep(await openRole("nova-api-db", spec, { readOnly }));
  const identity = await identifyNovaApi(database);
  return {
    ...{ database, identity, label: database.label },
    target: createNovaTarget(database, identity, failpoint, "nova_api"),
    /** @param hosts hosts of live instances by flavor, from nova */
    rows: (hosts: FlavorRows["hosts"]): Promise<FlavorRows> =>
      closing(async (inner) => readFlavorRows(inner(await readTransaction(database)), hosts)),
    /** Waits for the open transaction of an earlier run. @throws MigrationError N2I-E318 */
    committed: () => committed(database),
  };
}
