import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { MigrationError, orNull } from "../../lib/error.ts";
import type { Keep } from "../../run/databases.ts";
import { askFence } from "../../run/fence-command.ts";
import { readJournal } from "../../run/files/journal.ts";
import { openRun } from "../../run/files/run-folder.ts";
import { inRun } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import type { Database } from "../../systems/database/open.ts";
import { read } from "../../systems/database/read.ts";
import { text } from "../../systems/database/rows.ts";
import { isUnanswered } from "../../systems/database/statement.ts";
import { type LegacyPlaces, openLegacyPlace } from "../baremetal/legacy-place.ts";
import { openIn, takeMachines } from "../baremetal/legacy-take.ts";
import { type DownWords, downTime } from "../host-watch.ts";
import { takenLocks } from "../leases/locks.ts";
import type { Taken, Taking } from "./agent-round.ts";
import { createTaker } from "./agent-take.ts";

export interface TakeWords extends LegacyPlaces, DownWords {
  readonly novaBmDb: string;
  readonly novaDb: string;
  readonly take: boolean;
  /** Folder of the runs, one per dead host. */
  readonly run?: string;
  readonly fenceCommand?: string;
}

/** @throws MigrationError as `openLegacyPlace` */
export async function openTaker(
  asked: TakeWords & { readonly host: string; readonly ttl: number },
  around: Pick<Taking, "leases" | "services" | "say" | "clock">,
  keep: Keep,
) {
  const { leases, say } = around;
  const { host, ttl, run = "", fenceCommand } = asked;
  await openRun(run, { create: true });
  const place = await openLegacyPlace(asked, keep, { readOnly: false }, say);
  const down = await downTime(asked);
  /** A run per death, which can be inspected and rolled back by itself. */
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
  return createTaker({
    ...around,
    ...{ host, ttl: ttl * 1000, down },
    fence:
      fenceCommand === undefined
        ? null
        : (from, signal) => askFence({ fenceCommand, from, run }, signal, { say }),
    aggregates: place.aggregates,
    async goOn(signal) {
      const taken: Taken[] = [];
      for (const [name, from] of await unfinishedIn(run))
        taken.push(await refusedAs(name, inDeath(name, { from, nodes: [], signal })));
      const left = taken.flatMap((one) => one.left);
      const said = new Set(left.map(({ id }) => id));
      const others = (await halfWay(leases, host)).filter((uuid) => !said.has(`machine:${uuid}`));
      const locks = others.length === 0 ? [] : await takenLocks(leases);
      for (const uuid of others) {
        const lock = locks.find(({ resource }) => resource === `node:${uuid.toLowerCase()}`);
        const whose = lock === undefined ? "another run" : lock.owner;
        const late = lock !== undefined && lock.left <= 0 ? ", whose lock has expired" : "";
        left.push({ id: `machine:${uuid}`, why: `its move is unfinished, by ${whose}${late}` });
      }
      return { left };
    },
    take: ({ host: from, epoch }, nodes, signal) =>
      inDeath(`${encodeURIComponent(from)}-${epoch}`, { from, nodes, signal }),
  });
}

/** Machines with an unfinished move to the host. */
async function halfWay(leases: Database, host: string): Promise<readonly string[]> {
  const mine = "bm_nodes WHERE service_host = ? AND task_state = 'migrating' ORDER BY id";
  return (await read(leases, { uuid: text }, mine, [host])).flatMap(({ uuid }) => uuid ?? []);
}

/** Unfinished runs, with the hosts that their machines leave. */
async function unfinishedIn(run: string): Promise<ReadonlyMap<string, string>> {
  const open = new Map<string, string>();
  for (const entry of await readdir(run, { withFileTypes: true })) {
    const from = entry.isDirectory() ? deadIn(entry.name) : null;
    if (from !== null && (await isOpen(join(run, entry.name)))) open.set(entry.name, from);
  }
  return open;
}

/** An unclaimed machine may have a guard. An unreadable run counts as unfinished to report it. */
async function isOpen(path: string): Promise<boolean> {
  const journal = await orNull(openRun(path, { create: false }).then(readJournal));
  return journal === null || openIn(journal.entries).length > 0;
}

function deadIn(name: string): string | null {
  const [, from] = /^(.+)-\d+$/.exec(name) ?? [];
  try {
    return from === undefined ? null : decodeURIComponent(from);
  } catch {
    return null; // not a folder of this agent
  }
}

/** One folder must not stop others. @throws MigrationError if a database does not answer */
async function refusedAs(name: string, taking: Promise<Taken>): Promise<Taken> {
  try {
    return await taking;
  } catch (error) {
    if (!(error instanceof MigrationError) || isUnanswered(error)) throw error;
    return { left: [{ id: `run:${name}`, why: error.message }] };
  }
}
