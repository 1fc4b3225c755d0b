import { stat } from "node:fs/promises";
import {
  judgeRestart,
  type LoggedStart,
  lastStartOf,
  type SeenService,
} from "../core/settings/restarts.ts";
import { checkLog, linesOf } from "../edge/log/scan.ts";
import { novaVersion } from "../edge/nova/open.ts";
import { readServiceTimes } from "../edge/nova/services.ts";
import { MigrationError } from "../model/error.ts";
import { groupedBy } from "../model/grouped.ts";
import type { ServiceTimes } from "../model/nova-rows.ts";
import type { Restart, SettingsPart } from "../model/settings.ts";
import { hostSpec } from "../model/text.ts";
import { closing, openRole } from "./databases.ts";

/** What shows that a service was started. */
export interface RestartPlaces {
  readonly novaDb?: string;
  /** `[HOST=]FILE`, hosts as those of nova.conf are named. */
  readonly serviceLog?: readonly string[];
}

/** A host whose files were read, and what of Nova reads them. */
export interface Reader {
  /** As the command line names it; "*" without a name. */
  readonly named: string;
  /** As its service says it: `[DEFAULT] host`, or its own name; null: nobody said. */
  readonly host: string | null;
  readonly files: readonly string[];
}

type Rows = ReadonlyMap<SettingsPart, readonly ServiceTimes[]>;

/**
 * Whether the services that read these files were started since the files changed; a row a service.
 * Of a host that is asked about both services, only those that it has.
 *
 * @throws MigrationError N2I-E100 for a log of a host without files, N2I-E105 for a log that cannot be
 *   read, N2I-E202, N2I-E203 for a nova that is none
 */
export async function restarts(
  readers: readonly Reader[],
  parts: readonly SettingsPart[],
  { novaDb, serviceLog = [] }: RestartPlaces,
): Promise<readonly Restart[]> {
  const logs = await logsByHost(serviceLog, readers);
  const rows: Rows = novaDb === undefined ? new Map() : await rowsOf(novaDb, parts);
  const found: Restart[] = [];
  for (const reader of readers) {
    const changed = await newest(reader.files);
    const seen: SeenService[] = [];
    for (const part of parts) {
      const start = await startIn(logs.get(reader.named), part);
      const row = rowOf(reader, rows.get(part));
      const host = reader.host ?? row?.host ?? reader.files.at(-1) ?? reader.named;
      seen.push({
        ...{ host, part, changed, now: new Date() },
        ...(row !== undefined && { row }),
        ...(start !== undefined && { start }),
      });
    }
    const there = seen.filter(({ row, start }) => row || start);
    found.push(...(there.length > 0 ? there : seen).map(judgeRestart));
  }
  return found;
}

/** Null: it has none; undefined: nobody knows. A file of no host is of the one service there is. */
function rowOf(
  { host }: Reader,
  rows: readonly ServiceTimes[] | undefined,
): ServiceTimes | null | undefined {
  if (rows === undefined) return undefined;
  if (host !== null) return rows.find((row) => row.host === host) ?? null;
  return rows.length === 1 ? rows[0] : undefined;
}

async function logsByHost(specs: readonly string[], readers: readonly Reader[]) {
  const logs = groupedBy(
    specs.map(hostSpec),
    ({ host }) => host,
    ({ path }) => path,
  );
  const stray = [...logs.keys()].find((host) => readers.every(({ named }) => named !== host));
  if (stray !== undefined)
    throw new MigrationError("N2I-E100", `--service-log names ${stray}, and no --nova-conf does`, {
      fix: "Name a host of both alike: --nova-conf compute-1=FILE --service-log compute-1=LOG",
    });
  for (const path of [...logs.values()].flat()) await checkLog(path);
  return logs;
}

function rowsOf(novaDb: string, parts: readonly SettingsPart[]): Promise<Rows> {
  return closing(async (keep) => {
    const database = keep(await openRole("nova-db", novaDb, { readOnly: true }));
    await novaVersion(database);
    const rows = new Map<SettingsPart, readonly ServiceTimes[]>();
    for (const part of parts) rows.set(part, await readServiceTimes(database, `nova-${part}`));
    return rows;
  });
}

/** The last start in the logs of a host, the last log first; undefined without logs. */
async function startIn(
  paths: readonly string[] | undefined,
  part: SettingsPart,
): Promise<LoggedStart | null | undefined> {
  if (paths === undefined) return undefined;
  for (const path of paths.toReversed()) {
    const written = (await stat(path)).mtime;
    const start = await lastStartOf(part, { path, written }, linesOf(path));
    if (start !== null) return start;
  }
  return null;
}

/** When the newest of them came to be what it is: one that was moved here keeps its mtime. */
async function newest(files: readonly string[]): Promise<Date> {
  const found = await Promise.all(files.map((file) => stat(file)));
  return new Date(Math.max(...found.flatMap(({ mtimeMs, ctimeMs }) => [mtimeMs, ctimeMs])));
}
