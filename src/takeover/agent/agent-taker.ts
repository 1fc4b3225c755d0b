import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, orNull } from "../../lib/error.ts";
import type { Keep } from "../../run/databases.ts";
import { askFence } from "../../run/fence-command.ts";
import { journalMark, readJournal } from "../../run/files/journal.ts";
import { openRun } from "../../run/files/run-folder.ts";
import { inRun } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import type { Database } from "../../systems/database/open.ts";
import { read } from "../../systems/database/read.ts";
import { text } from "../../systems/database/rows.ts";
import { isUnanswered } from "../../systems/database/statement.ts";
import { type LegacyPlaces, openLegacyPlace } from "../baremetal/legacy-place.ts";
import { openIn, takeMachines } from "../baremetal/legacy-take.ts";
import { type DownWords, downTime } from "../host-down.ts";
import { takenLocks } from "../leases/locks.ts";
import type { Taken, Taking } from "./agent-round.ts";
import { createTaker } from "./agent-take.ts";

export interface TakeWords extends LegacyPlaces, DownWords {
  readonly novaBmDb: string;
  readonly novaDb: string;
  readonly take: boolean;
  /** Holds a run for each dead host. */
  readonly run?: string;
  readonly fenceCommand?: string;
}

interface Around {
  readonly leases: Database;
  readonly services: Taking["services"];
  readonly keep: Keep;
  readonly say: (text: string) => void;
  readonly clock: () => number;
}

/** Opens what takes dead hosts' machines over to this one. @throws MigrationError as `openLegacyPlace` */
export async function openTaker(
  asked: TakeWords & { readonly host: string; readonly ttl: number },
  { leases, services, keep, say, clock }: Around,
) {
  const { host, ttl, run = "", fenceCommand } = asked;
  await openRun(run, { create: true });
  const place = await openLegacyPlace(asked, keep, { readOnly: false }, say);
  const down = await downTime(asked);
  /** In a run for each death, which can be looked at, and taken back, by itself and with no other word. */
  const inDeath = (
    name: string,
    take: Pick<Parameters<typeof takeMachines>[2], "from" | "nodes" | "signal">,
  ) =>
    inRun(
      join(run, name),
      "host agent",
      { kind: "takeover", variant: "baremetal", create: true },
      async (folder) => {
        await saveOptions(folder, "host", asked);
        return takeMachines(folder, place, { ...take, to: host, agent: host, down }, { say });
      },
    );
  const openDeaths = deathsIn(run);
  return createTaker({
    ...{ leases, services, host, ttl: ttl * 1000, down, say, clock },
    fence:
      fenceCommand === undefined
        ? null
        : (from, signal) => askFence({ fenceCommand, from, run }, signal, { say }),
    aggregates: place.aggregates,
    async goOn(signal) {
      const taken: Taken[] = [];
      for (const [name, from] of await openDeaths())
        taken.push(await refusedAs(name, inDeath(name, { from, nodes: [], signal })));
      const left = taken.flatMap((one) => one.left);
      const said = new Set(left.map(({ id }) => id));
      const others = (await halfWay(leases, host)).filter((uuid) => !said.has(`machine:${uuid}`));
      const locks = others.length === 0 ? [] : await takenLocks(leases);
      for (const uuid of others) {
        const lock = locks.find(({ resource }) => resource === `node:${uuid.toLowerCase()}`);
        const whose = lock === undefined ? "no run of this agent" : lock.owner;
        const late = lock !== undefined && lock.left <= 0 ? ", whose lock ran out" : "";
        left.push({ id: `machine:${uuid}`, why: `it is half way, by ${whose}${late}` });
      }
      return { left };
    },
    take: ({ host: from, epoch }, nodes, signal) =>
      inDeath(`${encodeURIComponent(from)}-${epoch}`, { from, nodes, signal }),
  });
}

/** Machines of a host that are under way to it, or were left so. */
async function halfWay(leases: Database, host: string): Promise<readonly string[]> {
  const mine = "bm_nodes WHERE service_host = ? AND task_state = 'migrating' ORDER BY id";
  return (await read(leases, { uuid: text }, mine, [host])).flatMap(({ uuid }) => uuid ?? []);
}

/** Finds runs of deaths that left something open; one that did not is read again only once it was written. */
function deathsIn(run: string) {
  const ended = new Map<string, string>();
  return async (): Promise<ReadonlyMap<string, string>> => {
    const open = new Map<string, string>();
    for (const entry of await readdir(run, { withFileTypes: true })) {
      const { name } = entry;
      const from = entry.isDirectory() ? deadIn(name) : null;
      if (from === null) continue;
      const path = join(run, name);
      const mark = await journalMark(path);
      if (mark !== null && ended.get(name) === mark) continue;
      if (await isOpen(path)) open.set(name, from);
      else if (mark !== null) ended.set(name, mark);
    }
    return open;
  };
}

/**
 * Whether a run left something open: a machine that it did not claim may have a guard of it. What cannot be read may
 * have; whoever goes on with it says why.
 */
async function isOpen(path: string): Promise<boolean> {
  const journal = await orNull(openRun(path, { create: false }).then(readJournal));
  return journal === null || openIn(journal.entries).length > 0;
}

/** The host whose death a folder is of; null for any other. */
function deadIn(name: string): string | null {
  const [, from] = /^(.+)-\d+$/.exec(name) ?? [];
  try {
    return from === undefined ? null : decodeURIComponent(from);
  } catch {
    return null; // somebody else's name
  }
}

/** What one folder is refused keeps no other from going on. @throws MigrationError where a database does not answer */
async function refusedAs(name: string, taking: Promise<Taken>): Promise<Taken> {
  try {
    return await taking;
  } catch (error) {
    if (!(error instanceof MigrationError) || isUnanswered(error)) throw error;
    return { left: [{ id: `run:${name}`, why: error.message }] };
  }
}
