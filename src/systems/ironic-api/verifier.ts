import { grouped } from "../../lib/grouped.ts";
import { isObject } from "../../lib/json.ts";
import type { Verifier } from "../../model/ironic/target.ts";
import type { Row } from "../../model/machine.ts";
import { type Link, listAll } from "./look.ts";
import { maskedIn } from "./row.ts";

/**
 * Reads what is really there: nodes and ports listed once, a thousand at a time, by questions the
 * adoption does not ask. What is there is held in memory while it is compared: the API cannot be
 * asked for the rows of a batch.
 */
export function createVerifier(link: Link): Verifier {
  let listing: Promise<Listed> | undefined;
  let uncompared = 0;
  const list = async (): Promise<Listed> => {
    const { nodes, ports } = await listAll(link);
    return {
      nodes: new Map(nodes.map((row) => [String(row.uuid), row])),
      ports: grouped(ports, ({ node_uuid }) => String(node_uuid)),
    };
  };
  const there = (): Promise<Listed> => {
    listing ??= list();
    return listing;
  };
  const marked = async (): Promise<readonly string[]> =>
    [...(await there()).nodes].flatMap(([uuid, { extra }]) =>
      isObject(extra) && extra.nova_bm !== undefined ? [uuid] : [],
    );
  return {
    async rows(nodeUuids) {
      const all = await there();
      const wanted = new Set(nodeUuids);
      const of = <T>(map: ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
        new Map(
          [...wanted].flatMap((uuid) => {
            const found = map.get(uuid);
            return found === undefined ? [] : [[uuid, found] as const];
          }),
        );
      const nodes = of(all.nodes);
      for (const row of nodes.values()) uncompared += maskedIn({ ...row });
      return { nodes, ports: of(all.ports), unreadable: new Map() };
    },
    uncompared: () => uncompared,
    marked: async () => (await marked()).length,
    async *markedUuids() {
      yield await marked();
    },
  };
}

interface Listed {
  readonly nodes: ReadonlyMap<string, Row>;
  readonly ports: ReadonlyMap<string, readonly Row[]>;
}
