import { existsSync, writeFileSync } from "node:fs";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { groupedBy } from "../../lib/grouped.ts";
import type { TargetDoc } from "../../model/mapping.ts";
import type { PowerReadings } from "../../model/power.ts";
import type { MachineFlavor } from "../../model/settings.ts";
import { closing, openRole } from "../../run/databases.ts";
import type { Database } from "../../systems/database/open.ts";
import { readFlavorSizes } from "../../systems/nova-db/flavors.ts";
import { readClasses } from "../../systems/nova-db/later.ts";
import { novaVersion } from "../../systems/nova-db/open.ts";
import { readApiFlavors, readFlavorRows } from "../../systems/nova-db/plan-flavors.ts";
import { identifyNovaApi } from "../../systems/nova-db/plan-open.ts";
import type { ConnectionOptions } from "../flavors/flavor-api.ts";
import { createProposal } from "./rules/propose.ts";

interface Args extends ConnectionOptions {
  readonly proposeSite?: string;
  readonly placementDb?: string;
}

/** Opens the generator of an initial site document. Null if none is requested. */
export async function openProposal(
  { proposeSite, placementDb, ...databases }: Args,
  { power_keys: keys }: TargetDoc,
  readings: PowerReadings,
) {
  if (proposeSite === undefined) return null;
  if (existsSync(proposeSite)) throw refuse(proposeSite, "it already exists");
  const placement = await closing(async (keep) =>
    placementDb === undefined
      ? new Map<string, string>()
      : readClasses(keep(await openRole("placement-db", placementDb, { readOnly: true }))),
  );
  const flavors = await flavorsIn(databases);
  return createProposal({ placement, flavors, readings, keys });
}

/**
 * Flavors for machines in each database. Those of nova_api replace nova's with the same id, as in
 * Nova.
 * @throws MigrationError N2I-E202, N2I-E203 if it is not a nova or nova_api
 */
async function flavorsIn({
  novaDb,
  novaApiDb,
}: ConnectionOptions): Promise<readonly MachineFlavor[]> {
  const found = new Map<number, MachineFlavor>();
  for (const [role, spec, schema] of [
    ["nova-db", novaDb, "nova"],
    ["nova-api-db", novaApiDb, "nova_api"],
  ] as const) {
    if (spec === undefined) continue;
    await closing(async (keep) => {
      const database = keep(await openRole(role, spec, { readOnly: true }));
      await (schema === "nova_api" ? identifyNovaApi : novaVersion)(database);
      for (const [id, flavor] of await machineFlavors(database, schema)) found.set(id, flavor);
    });
  }
  return [...found.values()];
}

/** Live flavors for machines: with a custom resource class or deploy images. */
async function machineFlavors(
  database: Database,
  schema: "nova" | "nova_api",
): Promise<ReadonlyMap<number, MachineFlavor>> {
  const { flavors, specs } = await (schema === "nova"
    ? readFlavorRows(database)
    : readApiFlavors(database, new Map()));
  const asking = specs.filter(({ key }) => key.startsWith("resources:CUSTOM_"));
  const ids = new Set(asking.map(({ instance_type_id }) => instance_type_id));
  const sizes = await readFlavorSizes(database, [...ids], schema);
  const byId = groupedBy(
    specs,
    ({ instance_type_id }) => instance_type_id,
    ({ key, value }) => [key, value] as const,
  );
  return new Map(
    flavors.flatMap(({ id, name }) => {
      const size = sizes.get(id);
      if (size === undefined) return [];
      return [[id, { name, size, extra_specs: Object.fromEntries(byId.get(id) ?? []) }] as const];
    }),
  );
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
