import { existsSync, writeFileSync } from "node:fs";
import { createProposal, type Proposal } from "../../core/plan/propose.ts";
import { systemCode } from "../../edge/disk/failure.ts";
import { readClasses } from "../../edge/nova/later.ts";
import { MigrationError } from "../../model/error.ts";
import type { TargetDoc } from "../../model/mapping.ts";
import type { PowerReading } from "../../model/power.ts";
import { openRole } from "./databases.ts";

interface Args {
  readonly proposeSite?: string;
  readonly placementDb?: string;
}

export const proposeOptions = {
  "propose-site": {
    type: "string",
    requiresArg: true,
    describe: "Write a first site document to this new file: what is known, and what to decide",
  },
  "placement-db": {
    type: "string",
    requiresArg: true,
    describe: "Placement's database, for --propose-site: it knows resource classes",
  },
} as const;

/** What gathers a first site document; null when none is asked for. */
export async function openProposal(
  { proposeSite, placementDb }: Args,
  { power_keys: keys }: TargetDoc,
  readings: ReadonlyMap<number, PowerReading>,
): Promise<Proposal | null> {
  if (proposeSite === undefined) return null;
  if (existsSync(proposeSite)) throw refuse(proposeSite, "it is there already");
  const placement = placementDb === undefined ? new Map<string, string>() : await read(placementDb);
  return createProposal({ placement, readings, keys });
}

async function read(spec: string): Promise<ReadonlyMap<string, string>> {
  const database = await openRole("placement-db", spec, { readOnly: true });
  try {
    return await readClasses(database);
  } finally {
    await database.close();
  }
}

/**
 * @returns what to tell of it
 * @throws MigrationError N2I-E100 when the file is there: somebody's decisions may stand in it
 */
export function writeProposal({ proposeSite: file = "" }: Args, text: string): string {
  try {
    writeFileSync(file, text, { flag: "wx", mode: 0o600 });
  } catch (cause) {
    throw refuse(file, systemCode(cause) ?? "no name", cause);
  }
  return `Proposed a site document: ${file}. Fill in what is empty, then plan with --site ${file}.`;
}

function refuse(file: string, why: string, cause?: unknown): MigrationError {
  const fix = "Name a new file: decisions of somebody may stand in this one.";
  const words = `--propose-site ${file} cannot be written: ${why}`;
  return new MigrationError("N2I-E100", words, { cause, fix });
}
