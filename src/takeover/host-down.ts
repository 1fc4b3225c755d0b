import { MigrationError } from "../lib/error.ts";
import { readOsloFiles } from "../lib/files/oslo.ts";

export interface DownWords {
  readonly novaConf?: string;
  readonly serviceDownTime?: number;
}

/** Seconds. @source nova: [DEFAULT]service_down_time */
const DOWN = 60;

/** The same, or Nova's default. @throws MigrationError N2I-E104 */
export async function downTime(words: DownWords): Promise<number> {
  return (await saidDownTime(words)) ?? DOWN;
}

/** Seconds until a silent nova-compute is down, or null. @throws MigrationError N2I-E104 */
export async function saidDownTime({
  serviceDownTime,
  novaConf,
}: DownWords): Promise<number | null> {
  if (serviceDownTime !== undefined) return serviceDownTime;
  if (novaConf === undefined) return null;
  const text = (await readOsloFiles(novaConf.split(","), {})).get("DEFAULT", "service_down_time");
  if (text === null || text === undefined || text.trim() === "") return null;
  if (Number(text) > 0) return Number(text);
  throw new MigrationError("N2I-E104", `${novaConf}: service_down_time is not a number above 0`, {
    fix: "Correct [DEFAULT]service_down_time in that file, or give --service-down-time.",
  });
}
