import { createQuotes } from "../../../lib/quotes.ts";
import type { Handover } from "../../../model/handover.ts";
import { type Conductor, enabledBy, type Service } from "../../../model/ironic/service.ts";
import type { Row } from "../../../model/machine.ts";

type Takers = Pick<Service, "conductors" | "interfaces">;

const INTERFACE = "_interface";

/** What brings a taker back, as the operator does it. */
export const BRING =
  "Start or fix it, then run the same command again to resume. Or handover --undo --node.";

/**
 * Why no conductor would take this machine over now; null when one would. One machine with an
 * interface nobody enables ends the take-over of all others, so it is not to be released at all.
 *
 * @source facts/ironic.md 1.5: a conductor serves its group alone
 */
export function nobody({ conductors, interfaces }: Takers, row: Row): string | null {
  const driver = String(row.driver);
  const group = groupOf(row);
  const where = group === "" ? "" : ` of group ${JSON.stringify(row.conductor_group)}`;
  const members = conductors.filter((one) => one.group === group);
  const alive = members.filter((one) => one.alive);
  if (members.length === 0) return `there is no conductor${where}`;
  if (alive.length === 0) return `no conductor${where} is alive: ${hosts(members)}`;
  const able = alive.filter(({ drivers }) => drivers.includes(driver));
  if (able.length === 0) return `no conductor${where} that is alive has ${driver}: ${hosts(alive)}`;
  const enabled = enabledBy(interfaces, able, driver);
  for (const [column, name] of Object.entries(row)) {
    if (!column.endsWith(INTERFACE) || typeof name !== "string") continue;
    const names = enabled.get(column.slice(0, -INTERFACE.length));
    if (names !== undefined && !names.has(name))
      return `no conductor${where} that is alive enables ${column} ${name} for ${driver}`;
  }
  return null;
}

function groupOf({ conductor_group }: Row): string {
  return typeof conductor_group === "string" ? conductor_group.toLowerCase() : "";
}

/** What became of conductors between two looks, a sentence each. */
function changes(before: Takers, now: Takers): readonly string[] {
  const living = ({ conductors }: Takers): ReadonlySet<string> =>
    new Set(conductors.filter(({ alive }) => alive).map(({ hostname }) => hostname));
  const [then, here] = [living(before), living(now)];
  return [
    ...[...then].filter((host) => !here.has(host)).map((host) => `conductor ${host} died`),
    ...[...here].filter((host) => !then.has(host)).map((host) => `conductor ${host} is alive`),
  ];
}

function hosts(conductors: readonly Conductor[]): string {
  return conductors.map(({ hostname }) => hostname).join(", ");
}

/** What release knows of the conductors beside the machines' rows. */
export interface ConductorHealth {
  /** Looks at conductors and logs; gives what is new about all machines, a sentence each. */
  readonly inspect: (watched: {
    readonly has: (uuid: string) => boolean;
  }) => Promise<readonly string[]>;
  /** Why nobody would take a machine over, by the last look. */
  readonly nobody: (row: Row) => string | null;
  /** How many conductors are alive that would take any of these machines over. */
  readonly living: (rows: Iterable<Row>) => number;
  /** What the logs say of a machine; it is not asked about again. */
  readonly quoted: (uuid: string) => readonly string[];
}

/** A conductor's log; gives the lines it gained since it was read last. */
export interface Log {
  readonly read: () => Promise<readonly string[]>;
}

/** Looks once, so that `nobody` has something to say. */
export async function createConductorHealth(
  handover: Pick<Handover, "service">,
  logs: readonly Log[],
): Promise<ConductorHealth> {
  const quotes = createQuotes();
  let service = await handover.service();
  return {
    async inspect(watched) {
      const now = await handover.service();
      const news = [...changes(service, now)];
      service = now;
      for (const log of logs)
        for (const line of quotes.add(await log.read(), watched))
          news.push(`take-over of all machines fails: ${line}`);
      return news;
    },
    nobody: (row) => nobody(service, row),
    living(rows) {
      const all = [...rows];
      return service.conductors.filter(
        ({ alive, group, drivers }) =>
          alive &&
          all.some((row) => group === groupOf(row) && drivers.includes(String(row.driver))),
      ).length;
    },
    quoted(uuid) {
      const lines = quotes.of(uuid);
      quotes.forget(uuid);
      return lines;
    },
  };
}
