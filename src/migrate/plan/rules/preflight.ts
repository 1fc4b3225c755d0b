import { listed } from "../../../lib/text.ts";
import { BEYOND } from "../../../model/charset.ts";
import { type Finding, finding, findingIf } from "../../../model/findings.ts";
import {
  type Conductor,
  enabledBy,
  isOfGroup,
  type Service,
} from "../../../model/ironic/service.ts";
import type { Row } from "../../../model/machine.ts";
import { type Transformed, withFindings } from "../../transform/transform.ts";

const MOST = 5;
const INTERFACE = "_interface";

/**
 * Compares the plan with all conductors that ever registered. Ironic accepts a node without a
 * matching driver and group, but no conductor ever manages it.
 * @param adopts the backend needs a live conductor. With the database backend, conductors are
 * stopped until the hand-over
 * @source facts/ironic.md 1.5
 */
export function preflight(service: Service, adopts: boolean) {
  const { conductors, reserved } = service;
  const faults = faultsOf(service, adopts);
  const nodes = reserved.map(({ uuid, by }) => `${uuid} by ${by}`);
  const detail = `${nodes.length} reserved: ${listed(nodes, MOST)}`;
  return {
    findings: findingIf(nodes.length > 0, "N2I-D422", "nodes", detail),
    /** The conductors for the machines, as text for people. */
    text: serviceText(service),
    machine(made: Transformed): Transformed {
      if (conductors.length === 0) return made;
      const found = made.desired.flatMap(({ id, resource, row }) =>
        resource === "node" ? faults(id, row) : [],
      );
      return withFindings(made, found);
    },
  };
}

function faultsOf(
  { conductors, interfaces }: Service,
  adopts: boolean,
): (id: string, row: Row) => readonly Finding[] {
  const cache = new Map<string, ReturnType<typeof enabledBy>>();
  return (id, row) => {
    const { driver, group } = conductorKey(row);
    const members = conductors.filter((conductor) => isOfGroup(conductor, group));
    const able = members.filter(({ drivers }) => drivers.includes(driver));
    const where = groupText(group);
    if (able.length === 0) {
      const have = [...new Set(members.flatMap(({ drivers }) => drivers))].toSorted().join(", ");
      const message =
        members.length === 0
          ? `there is no conductor${where}`
          : `no conductor${where} has ${driver}. Their drivers: ${have || "none"}`;
      return [finding("N2I-D420", `${id} driver`, message)];
    }
    const isStopped = !able.some(({ alive }) => alive);
    const none = `no conductor${where} that has ${driver} is alive: ${able.map(({ hostname }) => hostname).join(", ")}`;
    const stopped = findingIf(isStopped, adopts ? "N2I-D756" : "N2I-D423", `${id} driver`, none);
    const key = JSON.stringify([driver, group]);
    const enabled = cache.get(key) ?? enabledBy(interfaces, able, driver);
    cache.set(key, enabled);
    const disabled = Object.entries(row).flatMap(([column, value]) => {
      if (!column.endsWith(INTERFACE) || typeof value !== "string") return [];
      const names = enabled.get(column.slice(0, -INTERFACE.length));
      if (names === undefined || names.has(value)) return [];
      const have = [...names].toSorted().join(", ");
      return [finding("N2I-D421", `${id} ${column}`, `${value} is not enabled; ${have} is`)];
    });
    return [...stopped, ...disabled, ...openPoints(id, row, able, interfaces)];
  };
}

/**
 * Interfaces without a name, only from the database backend. They follow the conductor's
 * configuration until the conductor saves the row with its defaults.
 */
function openPoints(
  id: string,
  row: Row,
  able: readonly Conductor[],
  interfaces: Service["interfaces"],
): readonly Finding[] {
  const hosts = new Set(able.map(({ hostname }) => hostname));
  const become = Object.keys(row)
    .filter((column) => column.endsWith(INTERFACE) && row[column] === null)
    .flatMap((column) => {
      const names = (interfaces ?? [])
        .filter(({ hostname, driver }) => driver === row.driver && hosts.has(hostname ?? ""))
        .filter(({ type, isDefault }) => isDefault && `${type}${INTERFACE}` === column)
        .map(({ name }) => name);
      return names.length === 0 ? [] : [`${column} ${[...new Set(names)].toSorted().join(" or ")}`];
    });
  const emptied = `left empty, and becomes: ${become.join(", ")}`;
  return findingIf(become.length > 0, "N2I-D415", `${id} driver`, emptied);
}

export function conductorKey(row: Row): { readonly driver: string; readonly group: string } {
  return { driver: String(row.driver), group: String(row.conductor_group ?? "").toLowerCase() };
}

export function groupText(group: string): string {
  return group === "" ? "" : ` of conductor group ${JSON.stringify(group)}`;
}

function serviceText({ conductors, interfaces }: Service): string {
  if (conductors.length === 0)
    return "none has ever started, so drivers and interfaces were not compared";
  const alive = conductors.filter((conductor) => conductor.alive).length;
  const drivers = [...new Set(conductors.flatMap(({ drivers: some }) => some))].toSorted();
  const compared =
    interfaces !== null && interfaces.length === 0 ? ". Interfaces were not compared" : "";
  return `${alive} of ${conductors.length} alive, with ${drivers.join(", ") || "no driver"}${compared}`;
}

/** Finds characters that the database's charset would refuse. @source facts/ironic.md 1.2 */
export function inspectCharset(charset: string): (machine: Transformed) => Transformed {
  const beyond = BEYOND[charset];
  if (beyond === undefined) return (machine) => machine;
  return (machine) => {
    const found = machine.desired.flatMap(({ id, row }) =>
      Object.entries(row)
        .filter(([, value]) => typeof value === "string" && beyond.test(value))
        .map(([column]) => finding("N2I-D405", `${id} ${column}`, `this database is ${charset}`)),
    );
    return withFindings(machine, found);
  };
}
