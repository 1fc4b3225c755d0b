import type { Finding } from "../../model/finding.ts";
import type { JsonObject } from "../../model/json.ts";
import type { HostConfig, Machine } from "../../model/machine.ts";
import type { DriverRow, Mapping } from "../../model/mapping.ts";
import type { PowerReading } from "../../model/power.ts";
import type { OriginTable, RuleSources } from "./compile.ts";
import { driverOf, hostOf } from "./driver.ts";
import { compileProgram, type Program } from "./program.ts";
import { type Made, makeRecord } from "./record.ts";
import { asRead, compileSite, type Decided } from "./site.ts";
import { nodeSources } from "./sources.ts";
import { type Decision, decide, factsOf, type StateFacts } from "./state.ts";

/** What is decided of a machine before its records are made. */
export interface Chosen {
  readonly decided: Decided;
  /** What the site document sets, driver_info.key and properties.key as fields of their own. */
  readonly set: JsonObject;
  readonly conf: HostConfig | null;
  readonly facts: StateFacts;
  readonly decision: Decision;
  /** Null where no driver takes the machine; the findings say why. */
  readonly driver: { readonly row: DriverRow; readonly program: Program } | null;
  readonly findings: readonly Finding[];
}

/** A node's record, and the sources its ports are made of, too. */
export interface MadeNode extends Made {
  readonly sources: RuleSources;
  readonly keeps: boolean;
}

export interface Nodes {
  readonly choose: (machine: Machine) => Chosen;
  /** The node as it would be loaded. @param reading of its power, where that is to be written */
  readonly make: (
    machine: Machine,
    chosen: Chosen & { readonly driver: NonNullable<Chosen["driver"]> },
    reading?: PowerReading,
  ) => MadeNode;
  /** What the site document says of machines that never came. */
  readonly unmatched: () => readonly Finding[];
}

/** driver_info.key and properties.key as fields of their own, since rules read flat places. */
function flat(set: JsonObject): JsonObject {
  const nested = ["driver_info", "properties"].flatMap((column) =>
    Object.entries(set[column] ?? {}).map(([key, value]) => [`${column}.${key}`, value]),
  );
  return { ...set, ...Object.fromEntries(nested) };
}

/**
 * Makes nodes of machines, for whoever needs to know what would be loaded: the plan, and the power
 * check, which asks what is loaded and nothing else.
 *
 * @param columns what the snapshot found, by table
 */
export function createNodes(
  mapping: Mapping,
  hosts: readonly HostConfig[],
  columns: { readonly [table: string]: readonly string[] },
  origins: OriginTable,
): Nodes {
  const programs = new Map<string, Program>(
    mapping.drivers.drivers.map((row) => [
      row.name,
      compileProgram(mapping, row, columns, origins),
    ]),
  );
  const site = compileSite(mapping.site);
  return {
    choose(machine) {
      const decided = site.of(machine);
      const set = flat(decided.set);
      const conf = hostOf(machine, hosts);
      const facts = factsOf(machine);
      const { row, findings } = driverOf(machine, conf, set, mapping);
      const program = row === null ? undefined : programs.get(row.name);
      const driver = row === null || program === undefined ? null : { row, program };
      const decision = decide(facts, mapping.states, decided.accept);
      return { decided, set, conf, facts, decision, driver, findings };
    },
    make(machine, { set, conf, decision: { outcome }, driver }, reading) {
      const keeps = mapping.states.outcomes[outcome].instance;
      const settled = { conf, driver: driver.row, outcome, site: set };
      const sources = {
        ...nodeSources(asRead(machine, set), settled, mapping),
        power: reading?.power ? { state: `power ${reading.power}` } : null,
      };
      const where = `bm_nodes.id=${machine.node.id}`;
      const made = makeRecord("node", driver.program.node, sources, keeps, where);
      return { ...made, sources, keeps };
    },
    unmatched: site.unmatched,
  };
}
