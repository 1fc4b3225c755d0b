import { existsSync, writeFileSync } from "node:fs";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { grouped } from "../../lib/grouped.ts";
import type { TargetDoc } from "../../model/mapping.ts";
import type { Images } from "../../model/nova/nova-plan.ts";
import type { FlavorRows } from "../../model/nova/nova-rows.ts";
import type { PowerReadings } from "../../model/power.ts";
import type { MachineFlavor } from "../../model/settings.ts";
import { closing, openRole } from "../../run/databases.ts";
import type { Database } from "../../systems/database/open.ts";
import { readFlavorRows, readFlavorSizes } from "../../systems/nova-db/flavors.ts";
import { readClasses } from "../../systems/nova-db/later.ts";
import { identifyNovaApi, novaVersion } from "../../systems/nova-db/plan-open.ts";
import type { ConnectionOptions } from "../flavors/flavor-api.ts";
import { createProposal } from "./rules/propose.ts";

interface Args extends ConnectionOptions {
  readonly proposeSite?: string;
  readonly placementDb?: string;
}

/** Opens the generator of an initial site document. Null if none is requested. */
export async function openProposal(
  { proposeSite, placementDb, ...options }: Args,
  { power_keys: keys }: TargetDoc,
  readings: PowerReadings,
  images: Images | null,
) {
  if (proposeSite === undefined) return null;
  if (existsSync(proposeSite)) throw refuse(proposeSite, "it already exists");
  const placement = await closing(async (keep) =>
    placementDb === undefined
      ? new Map<string, string>()
      : readClasses(keep(await openRole("placement-db", placementDb, { readOnly: true }))),
  );
  const flavors = await flavorsIn(options);
  return createProposal({ placement, flavors, readings, keys, images });
}

/**
 * Flavors for machines in each database. Those of nova_api replace nova's with the same id, as in
 * Nova.
 * @throws MigrationError N2I-E202, N2I-E203 if it is not a nova or nova_api
 */
function flavorsIn({ novaDb, novaApiDb }: ConnectionOptions): Promise<readonly MachineFlavor[]> {
  return closing(async (keep) => {
    const found = new Map<number, MachineFlavor>();
    if (novaDb !== undefined) {
      const database = keep(await openRole("nova-db", novaDb, { readOnly: true }));
      await novaVersion(database);
      await addFlavors(found, database, await readFlavorRows(database));
    }
    if (novaApiDb !== undefined) {
      const database = keep(await openRole("nova-api-db", novaApiDb, { readOnly: true }));
      await identifyNovaApi(database);
      await addFlavors(found, database, await readFlavorRows(database, new Map()));
    }
    return [...found.values()];
  });
}

/** Adds live flavors for machines: with a custom resource class or deploy images. */
async function addFlavors(
  found: Map<number, MachineFlavor>,
  database: Database,
  { schema, flavors, specs }: FlavorRows,
): Promise<void> {
  const asking = specs.filter(({ key }) => key.startsWith("resources:CUSTOM_"));
  const ids = new Set(asking.map(({ instance_type_id }) => instance_type_id));
  const sizes = await readFlavorSizes(database, [...ids], schema);
  const byId = grouped(specs, ({ instance_type_id }) => instance_type_id);
  for (const { id, name } of flavors) {
    const size = sizes.get(id);
    const pairs = (byId.get(id) ?? []).map(({ key, value }) => [key, value] as const);
    if (size !== undefined) found.set(id, { name, size, extra_specs: Object.fromEntries(pairs) });
  }
}

/** @throws MigrationError N2I-E100 if the file exists, because it may contain decisions */
export function writeProposal({ proposeSite: file = "" }: Args, text: string): string {
  try {
    writeFileSync(file, text, { flag: "wx", mode: 0o600 });
  } catch (cause) {
    throw refuse(file, systemCode(cause) ?? "no name", cause);
  }
  // Readings depend on driver_info, so power runs again if the document changes it.
  const again = text.includes("driver_info:") ? "power and plan" : "plan";
  return `Proposed a site document: ${file}. Fill in the empty values, then run ${again} with --site ${file}.`;
}

function refuse(file: string, reason: string, cause?: unknown): MigrationError {
  const fix = "Specify a new file, because this file may contain decisions.";
  const message = `--propose-site ${file} cannot be written: ${reason}`;
  return new MigrationError("N2I-E100", message, { cause, fix });
}
