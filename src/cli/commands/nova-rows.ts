import { novaStretches } from "../../core/apply/nova.ts";
import { choiceOf } from "../../core/hosts/choice.ts";
import { auditComputes } from "../../core/hosts/computes.ts";
import { auditInstances } from "../../core/hosts/placed.ts";
import { auditPlaces } from "../../core/hosts/strays.ts";
import type { Database } from "../../edge/database/open.ts";
import { openComputes } from "../../edge/nova-write/computes.ts";
import { openInstances, openOnNodes } from "../../edge/nova-write/instances.ts";
import { identifyNova } from "../../edge/nova-write/open.ts";
import { openPlaces } from "../../edge/nova-write/places.ts";
import { createNovaTarget } from "../../edge/nova-write/target.ts";
import type { Json } from "../../model/json.ts";
import {
  NOVA_PARTS,
  type NovaLine,
  type NovaStep,
  type NovaTarget,
  type Standing,
} from "../../model/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { openRole } from "../wire/databases.ts";
import { type FlavorApi, type FlavorApiOptions, reopenFlavorApi } from "../wire/flavor-api.ts";
import { checkNova, type NovaFile, withApi } from "../wire/nova-acting.ts";
import { note, type Telling } from "./shared.ts";

/** Columns of a step that change: `host: "h1" -> "h2"`. */
function changeOf({ before, after }: NovaStep): string {
  const row = after ?? before ?? {};
  return Object.keys(row)
    .filter((column) => before === null || after === null || before[column] !== after[column])
    .map((column) => {
      const side = (of: typeof before) => JSON.stringify(of?.[column] ?? null);
      if (before === null) return `${column}: ${side(after)}`;
      return `${column}: ${side(before)} -> ${side(after)}`;
    })
    .join(", ");
}

export const NOVA_COLUMNS = ["Part", "Row", "Change", "Of", "Machine", "Fields"];

/** The lines of a plan for Nova, as `show` prints them. */
export async function* novaRows(
  lines: AsyncIterable<readonly NovaLine[]>,
): AsyncGenerator<readonly Json[]> {
  for await (const batch of lines)
    for (const line of batch)
      if ("finding" in line) {
        const { code, place, message, severity } = line.finding;
        yield [severity, place, code, message, null, null];
      } else {
        const change = line.before === null ? "create" : line.after === null ? "delete" : "update";
        yield [line.part, line.id, change, line.of, line.machine, changeOf(line)];
      }
}

/** Compares nova with a plan for it. */
export interface NovaVerifier {
  /** What is not as planned, and the rest too where all is wanted, as rows of `verify`'s one list. */
  readonly rows: (
    machines: () => AsyncIterable<readonly PlannedMachine[]>,
    all: boolean,
  ) => AsyncIterable<readonly Json[]>;
  /** Once the rows went by: tells how many they were, and whether all is as planned. */
  readonly end: (format: Telling) => boolean;
  readonly close: () => Promise<void>;
}

/**
 * Opens the nova a plan was made for.
 *
 * @throws MigrationError N2I-E202 and N2I-E300 when it is another, before anything is compared
 */
export async function openNovaVerifier(
  plan: NovaFile,
  novaDb: string,
  reach: FlavorApiOptions,
): Promise<NovaVerifier> {
  const database = await openRole("nova-db", novaDb, { readOnly: true });
  let api: FlavorApi | null = null;
  try {
    const identity = await identifyNova(database);
    checkNova(plan.header.target, identity);
    api = await reopenFlavorApi(plan.header.api, reach, true);
    const target = withApi(createNovaTarget(database, identity), api);
    const count = { after: 0, before: 0, other: 0 };
    return {
      rows: (machines, all) => verifyNova(plan, machines, database, target, all, count),
      end(format) {
        const wrong = count.before + count.other;
        note(format, `Verify of nova: ${count.after} rows validated, ${wrong} mismatched.`);
        return wrong === 0;
      },
      async close() {
        await api?.close();
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Compares every row of nova that the plan changes, the instance of each machine it loads, and what
 * Nova offers of them.
 *
 * @param machines gives the plan's lines from the start, each time it is called
 */
async function* verifyNova(
  plan: NovaFile,
  machines: () => AsyncIterable<readonly PlannedMachine[]>,
  database: Database,
  target: NovaTarget,
  all: boolean,
  count: Record<Standing["is"], number>,
): AsyncGenerator<readonly Json[]> {
  /** Machines whose rows were told of already. */
  const known = new Set<string | null>();
  for (const part of NOVA_PARTS)
    for await (const { steps } of novaStretches(plan, part)) {
      const by = new Map(steps.map((step) => [step.id, step]));
      for (const { id, is, why } of await target.look(steps)) {
        count[is] += 1;
        const { machine = null, of = "" } = by.get(id) ?? {};
        if (is !== "after") known.add(machine);
        const details = is === "before" ? "as before the change" : why;
        const said = details === "" ? of : `${of}: ${details}`;
        if (is !== "after" || all)
          yield [id, machine, null, is === "after" ? "validated" : "mismatched", "", said];
      }
    }
  const { compute_hosts: chosen } = plan.header;
  const choice = chosen === undefined ? null : choiceOf(chosen);
  if (choice !== null) {
    const now = {
      ...{ instancesOf: openInstances(database), onNodes: await openOnNodes(database) },
      nova: database,
    };
    for await (const { machine, fault } of auditInstances(machines(), now, choice)) {
      if (known.has(machine)) continue;
      count.other += 1;
      yield ["instances", machine, null, "mismatched", "", fault];
    }
    for await (const { machine, fault } of auditPlaces(
      machines(),
      await openPlaces(database),
      choice,
    )) {
      if (known.has(machine)) continue;
      count.other += 1;
      yield ["compute nodes", machine, null, "mismatched", "", fault];
    }
  }
  const computesOf = await openComputes(database);
  for await (const { machine, fault } of auditComputes(machines(), computesOf)) {
    count.other += 1;
    yield ["compute nodes", machine, null, "mismatched", "", fault];
  }
}
