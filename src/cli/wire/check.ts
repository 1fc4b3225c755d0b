import { setTimeout as sleep } from "node:timers/promises";
import { pair } from "../../core/plan/pairing.ts";
import type { Database } from "../../edge/database/open.ts";
import { readServer } from "../../edge/database/server.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { freeSpace } from "../../edge/disk/space.ts";
import { checkIronic } from "../../edge/ironic-db/check.ts";
import { checkNova, readBeats } from "../../edge/nova/check.ts";
import { checkNovaBm } from "../../edge/nova-bm/check.ts";
import type { CheckView, NovaFacts, Refused } from "../../model/check.ts";
import { MigrationError } from "../../model/error.ts";
import { openRole, ROLES } from "./databases.ts";
import { loadMappings } from "./documents.ts";

/** Where everything is that is looked at. */
export interface CheckAsked {
  readonly novaBmDb: string;
  readonly novaDb: string | undefined;
  readonly ironicDb: string;
  readonly release: string | undefined;
  readonly allowPairing: boolean;
  /** Seconds. */
  readonly watch: number;
}

/** Refusals that are facts of a database, and so a row of the table; it answered, after all. */
const FACTS: ReadonlySet<string> = new Set([
  ...["N2I-E202", "N2I-E203", "N2I-E204", "N2I-E206", "N2I-E208"],
]);

async function orWhy<T>(work: () => Promise<T>): Promise<T | Refused> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MigrationError && FACTS.has(error.code))) throw error;
    return { refused: { code: error.code, message: error.message, fix: error.fix } };
  }
}

/**
 * Reads everything the checks look at; writes nothing.
 *
 * @throws MigrationError when a database does not answer, and for options
 */
export async function gather(asked: CheckAsked, run: RunFolder): Promise<CheckView> {
  const opened: Database[] = [];
  const open = async (role: keyof typeof ROLES, spec: string, readOnly = true) => {
    const database = await openRole(role, spec, { readOnly });
    opened.push(database);
    return database;
  };
  try {
    const source = await open("nova-bm-db", asked.novaBmDb);
    const cloud = asked.novaDb === undefined ? null : await open("nova-db", asked.novaDb);
    const target = await open("ironic-db", asked.ironicDb);
    const writing = await open("ironic-db", asked.ironicDb, false);
    const servers = [
      await readServer(source, ROLES["nova-bm-db"].option, Date.now),
      ...(cloud === null ? [] : [await readServer(cloud, ROLES["nova-db"].option, Date.now)]),
      await readServer(target, ROLES["ironic-db"].option, Date.now),
    ];
    const bm = await orWhy(() => checkNovaBm(source));
    const nova =
      cloud === null
        ? null
        : await orWhy(() => watched(cloud, "refused" in bm ? [] : bm.nodes, asked.watch));
    const ironic = await orWhy(() => checkIronic(target, writing, loadMappings(), asked.release));
    const version = nova === null || "refused" in nova ? null : nova.version;
    const pairing =
      "refused" in bm || "refused" in ironic || (nova !== null && version === null)
        ? null
        : pair(version, bm.version, ironic.release.doc, true);
    return {
      watched: asked.watch,
      pairing: pairing && { ...pairing, wanted: asked.allowPairing },
      servers,
      bm,
      nova,
      ironic: "refused" in ironic ? ironic : ironic.facts,
      run: { path: run.path, free: await freeSpace(run.path) },
    };
  } finally {
    for (const database of opened) await database.close();
  }
}

async function watched(
  nova: Database,
  nodes: Parameters<typeof checkNova>[1],
  seconds: number,
): Promise<NovaFacts> {
  const facts = await checkNova(nova, nodes);
  if (seconds > 0) await sleep(seconds * 1000);
  return { ...facts, later: await readBeats(nova) };
}
