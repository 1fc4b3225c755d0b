import { MigrationError } from "../../lib/error.ts";
import { regroup, TOGETHER } from "../../lib/streams.ts";
import { counted } from "../../lib/text.ts";
import { type Conductor, isOfGroup } from "../../model/ironic/service.ts";
import type { Target } from "../../model/ironic/target.ts";
import type { Row } from "../../model/machine.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { groupWords, placeOf } from "../plan/rules/preflight.ts";

interface Asked extends Pick<Target, "service" | "current"> {
  readonly identity: Pick<Target["identity"], "engine">;
}

/**
 * Checks that every machine to adopt has a live conductor, so that the service does not refuse each
 * one.
 * @throws MigrationError N2I-E214 naming drivers and groups, from the returned function
 */
export function findConductors(
  plan: () => AsyncIterable<readonly PlannedMachine[]>,
  target: Asked,
): () => Promise<void> {
  return async () => {
    if (target.identity.engine !== "rest") return;
    const { conductors } = await target.service();
    const without = new Map<string, number>();
    for await (const machines of regroup(plan(), TOGETHER)) {
      const nodes = machines
        .filter(({ verdict }) => verdict === "create")
        .flatMap(({ records }) => records)
        .filter(({ resource, change }) => resource === "node" && change === "create")
        .map(({ row }) => row)
        .filter((row) => !conductors.some((each) => each.alive && mayTake(each, row)));
      if (nodes.length === 0) continue;
      const uuids = nodes.map(({ uuid }) => String(uuid));
      const { nodes: found } = await target.current({ ...NOTHING, uuids });
      const arrived = new Map(found.map((row) => [row.uuid, row.provision_state]));
      for (const row of nodes) {
        if (arrived.get(row.uuid ?? null) === row.provision_state) continue;
        const { driver, group } = placeOf(row);
        const what = `${driver}${groupWords(group)}`;
        without.set(what, (without.get(what) ?? 0) + 1);
      }
    }
    if (without.size === 0) return;
    const some = [...without].map(
      ([what, machines]) => `${what} (${counted(machines, "machine")})`,
    );
    throw new MigrationError("N2I-E214", `no conductor is alive for ${some.join(", ")}`);
  };
}

function mayTake(conductor: Conductor, row: Row): boolean {
  const { driver, group } = placeOf(row);
  return isOfGroup(conductor, group) && conductor.drivers.includes(driver);
}

const NOTHING = { uuids: [], instance_uuids: [], names: [], port_uuids: [], addresses: [] };
