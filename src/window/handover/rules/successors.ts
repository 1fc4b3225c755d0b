import { createQuotes } from "../../../lib/quotes.ts";
import type { Handover } from "../../../model/handover.ts";
import { type Conductor, enabledBy, type Service } from "../../../model/ironic/service.ts";
import type { Row } from "../../../model/machine.ts";

type SuccessorServices = Pick<Service, "conductors" | "interfaces">;

const INTERFACE = "_interface";

/**
 * The reason why no conductor would take this machine over. Null if one would. An interface that is
 * not enabled would stop the takeover of all machines, so this machine is not released.
 * @source facts/ironic.md 1.5: a conductor serves its group alone
 */
export function reasonNoConductor(
  { conductors, interfaces }: SuccessorServices,
  row: Row,
): string | null {
  const driver = String(row.driver);
  const group = groupOf(row);
  const where = group === "" ? "" : ` in group ${JSON.stringify(row.conductor_group)}`;
  const members = conductors.filter((one) => one.group === group);
  const alive = members.filter((one) => one.alive);
  if (members.length === 0) return `there is no conductor${where}`;
  if (alive.length === 0) return `no conductor${where} is alive: ${hosts(members)}`;
  const able = alive.filter(({ drivers }) => drivers.includes(driver));
  if (able.length === 0) return `no live conductor${where} has ${driver}: ${hosts(alive)}`;
  const enabled = enabledBy(interfaces, able, driver);
  for (const [column, name] of Object.entries(row)) {
    if (!column.endsWith(INTERFACE) || typeof name !== "string") continue;
    const names = enabled.get(column.slice(0, -INTERFACE.length));
    if (names !== undefined && !names.has(name))
      return `no live conductor${where} enables ${column} ${name} for ${driver}`;
  }
  return null;
}

function groupOf({ conductor_group }: Row): string {
  return typeof conductor_group === "string" ? conductor_group.toLowerCase() : "";
}

function living({ conductors }: SuccessorServices): readonly string[] {
  return conductors.filter(({ alive }) => alive).map(({ hostname }) => hostname);
}

function hosts(conductors: readonly Conductor[]): string {
  return conductors.map(({ hostname }) => hostname).join(", ");
}

/** A conductor's log. Returns the lines since the last read. */
export interface Log {
  readonly read: () => Promise<readonly string[]>;
}

/** Reads once at the start, for `reasonNoConductor`. */
export async function createConductorHealth(at: Pick<Handover, "service">, logs: readonly Log[]) {
  const quotes = createQuotes();
  let service = await at.service();
  return {
    /** Reads conductors and logs. Returns new messages about all machines. */
    async inspect(watched: Pick<ReadonlyMap<string, Row>, "has">): Promise<readonly string[]> {
      const before = living(service);
      service = await at.service();
      const now = living(service);
      const news = [
        ...before.filter((host) => !now.includes(host)).map((host) => `conductor ${host} died`),
        ...now.filter((host) => !before.includes(host)).map((host) => `conductor ${host} is alive`),
      ];
      for (const log of logs)
        for (const line of quotes.add(await log.read(), watched))
          news.push(`takeover of all machines fails: ${line}`);
      return news;
    },
    /** The reason why no conductor would take a machine over, from the last reading. */
    reasonNoConductor: (row: Row) => reasonNoConductor(service, row),
    /** Number of live conductors that would take over one of these machines. */
    living(rows: Iterable<Row>): number {
      const all = [...rows];
      return service.conductors.filter(
        ({ alive, group, drivers }) =>
          alive &&
          all.some((row) => group === groupOf(row) && drivers.includes(String(row.driver))),
      ).length;
    },
    /** Returns the log lines about a machine, and forgets them. */
    quoted(uuid: string): readonly string[] {
      const lines = quotes.of(uuid);
      quotes.forget(uuid);
      return lines;
    },
  };
}
