import type { Handover } from "../../model/handover.ts";
import type { Row } from "../../model/machine.ts";
import { createQuotes } from "./quotes.ts";
import { changes, nobody } from "./takers.ts";

/** What release knows of the conductors beside the machines' rows. */
export interface ConductorHealth {
  /** Looks at conductors and logs; gives what is new about all machines, a sentence each. */
  readonly look: (watched: { readonly has: (uuid: string) => boolean }) => Promise<Told>;
  /** Why nobody would take a machine over, by the last look. */
  readonly nobody: (row: Row) => string | null;
  /** What the logs say of a machine; it is not asked about again. */
  readonly quoted: (uuid: string) => readonly string[];
}

type Told = readonly string[];

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
    async look(watched) {
      const now = await handover.service();
      const told = [...changes(service, now)];
      service = now;
      for (const log of logs)
        for (const line of quotes.add(await log.read(), watched))
          told.push(`take-over of all machines fails: ${line}`);
      return told;
    },
    nobody: (row) => nobody(service, row),
    quoted(uuid) {
      const lines = quotes.of(uuid);
      quotes.forget(uuid);
      return lines;
    },
  };
}
