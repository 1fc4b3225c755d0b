import { MigrationError } from "../lib/error.ts";
import { readOsloFiles } from "../lib/files/oslo.ts";

/** What says when Nova calls a nova-compute down. */
export interface DownWords {
  readonly novaConf?: string;
  readonly serviceDownTime?: number;
}

/** Seconds. @source nova: [DEFAULT]service_down_time */
const DOWN = 60;

/** Seconds without a report after which Nova calls a nova-compute down. @throws MigrationError N2I-E100 */
export async function downTime(words: DownWords): Promise<number> {
  return (await saidDownTime(words)) ?? DOWN;
}

/** The same where it was said; null otherwise. @throws MigrationError N2I-E100 */
export async function saidDownTime(words: DownWords): Promise<number | null> {
  const down = words.serviceDownTime ?? (await downTimeOf(words.novaConf));
  if (down === null || down > 0) return down;
  throw new MigrationError("N2I-E100", "--service-down-time is more than 0");
}

async function downTimeOf(path: string | undefined): Promise<number | null> {
  if (path === undefined) return null;
  const said = (await readOsloFiles(path.split(","), {})).get("DEFAULT", "service_down_time");
  return said === null || said === undefined || said.trim() === "" ? null : Number(said);
}
