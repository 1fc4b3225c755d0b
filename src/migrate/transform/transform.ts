import { portUuid } from "../../lib/uuid.ts";
import type { SnapshotHeader } from "../../model/artefact.ts";
import type { BootPlan } from "../../model/boot.ts";
import {
  type Acceptance,
  accept,
  blocks,
  type Finding,
  finding,
  findingIf,
  merge,
} from "../../model/findings.ts";
import { columnsOf, type Machine } from "../../model/machine.ts";
import type { Mapping } from "../../model/mapping.ts";
import type { Desired, Resource } from "../../model/plan.ts";
import type { ConductorIpmitool } from "../../model/power.ts";
import { type ConductorTraits, gate, isAbout, type PowerView } from "../power/rules/gate.ts";
import { createOrigins } from "./compile.ts";
import { inspectHost, inspectLogin, inspectPower, inspectShared } from "./driver.ts";
import { inspectDeploy, inspectHardware } from "./hardware.ts";
import { type Chosen, createNodes, type MadeNode } from "./node.ts";
import { inspectAddress, methodOfMachine } from "./power-query.ts";
import { type Made, makeRecord } from "./record.ts";
import { asRead } from "./site.ts";
import { stateFindings } from "./state.ts";
import {
  bootPlan,
  bootsAsRamdisk,
  inspectRebuild,
  inspectRoots,
  inspectTenant,
  type PortSource,
  portsOf,
} from "./tenant.ts";

export interface Transformed {
  readonly desired: readonly Desired[];
  readonly findings: readonly Finding[];
  readonly blocked: boolean;
  /** The reason why it is skipped. Null if it is not. */
  readonly skipped: string | null;
  readonly state: { readonly row: string; readonly outcome: string };
  /** Findings that the site document accepts for it. */
  readonly accept: readonly Acceptance[];
  /** The boot method, if it has an instance. */
  readonly boot?: BootPlan;
}

/** Adds findings, which may block the machine. */
export function withFindings(made: Transformed, found: readonly Finding[]): Transformed {
  if (found.length === 0) return made;
  const findings = [...made.findings, ...found];
  return found.some(blocks)
    ? { ...made, findings, blocked: true, desired: [] }
    : { ...made, findings };
}

/** As `withFindings`, with those that the site document accepts. */
export function withAccepted(made: Transformed, found: readonly Finding[]): Transformed {
  return withFindings(made, accept(found, made.accept));
}

/** Validates a record against the release's schema. Empty if it is valid. */
export type Validate = (resource: Resource, row: Desired["row"]) => readonly string[];

/**
 * Transforms nova_bm's records into Ironic's. It is pure: the same snapshot and mapping give the
 * same bytes, so a plan can be reviewed before it is applied.
 * @param power the BMCs' readings. Null if they are not used
 * @param ipmitool of the conductors, if it differs from the release's
 */
export function createTransform(
  mapping: Mapping,
  { hosts, columns }: Pick<SnapshotHeader, "hosts" | "columns">,
  validate: Validate,
  power: PowerView | null,
  ipmitool: ConductorIpmitool = mapping.target.ipmitool,
) {
  const origins = createOrigins();
  const nodes = createNodes(mapping, hosts, columns, origins);
  const conductor = { keys: mapping.target.power_keys, ipmitool };
  const claims = new Map<string, number>();
  const making = { mapping, nodes, validate, power, conductor, claims };
  return {
    machine: (source: Machine): Transformed => transformed(making, source),
    /** Findings of site entries without a machine. */
    unmatched: nodes.unmatched,
    /** The table for the indexes in `Desired.origins`. */
    origins: (): readonly (readonly [string, string])[] => origins.table,
  };
}

interface Making {
  readonly mapping: Mapping;
  readonly nodes: ReturnType<typeof createNodes>;
  readonly validate: Validate;
  readonly power: PowerView | null;
  readonly conductor: ConductorTraits;
  /** bm_nodes.id of the first machine with a BMC, outlet or console port. */
  readonly claims: Map<string, number>;
}

function transformed(making: Making, source: Machine): Transformed {
  const { mapping, nodes, power, conductor } = making;
  const { node } = source;
  const chosen = nodes.choose(source);
  const { decision, driver } = chosen;
  const { flat: set } = chosen.decided;
  const where = `bm_nodes.id=${node.id}`;
  if (node.deleted === true) return judged(source, chosen, source.findings, []);

  const found = merge([
    asRead(source, set).findings,
    chosen.findings,
    stateFindings(decision, chosen.facts, where),
  ]);
  if (driver === null) return judged(source, chosen, found, []);

  const plain = nodes.make(source, { ...chosen, driver });
  // An unreadable address is not compared. A machine that is not loaded still has its outlet.
  const isComparable = !plain.findings.some(blocks);
  const shared = isComparable ? inspectShared(plain.record.row, node.id, making.claims) : NONE;
  if (decision.outcome === "block") return judged(source, chosen, merge([found, shared]), []);

  const reading = power?.readings.get(node.id);
  // The query is needed only to check a reading.
  const method =
    reading === undefined
      ? null
      : methodOfMachine(source, driver.row, plain.record.row, conductor.keys);
  // The state of another BMC would be enforced on this machine.
  const recorded = power?.record === true && method !== null && isAbout(reading, node.id, method);
  const finalNode = recorded ? nodes.make(source, { ...chosen, driver }, reading) : plain;
  const ports = portsOf(source).map((port) => portOf(source, port, finalNode));
  const desired = [finalNode.record, ...ports.map(({ record }) => record)];
  const { row } = finalNode.record;
  const unusable = inspectAddress(plain.record.row, where);
  const { keeps } = finalNode;
  const findings = merge([
    found,
    inspectHost(source, chosen.conf),
    inspectPower(source, driver.row),
    unusable,
    inspectLogin(driver.row, row, node.id),
    shared,
    inspectHardware(row, mapping, driver.row, where),
    inspectDeploy(row, where),
    unused(source, chosen, where),
    inspectTenant(source, decision.outcome, mapping, bootsAsRamdisk(set, mapping.target)),
    keeps ? inspectRoots(source, set, where) : NONE,
    keeps ? inspectRebuild(source, row, where) : NONE,
    finalNode.findings,
    ...ports.map((port) => port.findings),
    power === null || unusable.length > 0 ? NONE : gate(source, reading, method, conductor, power),
    // A record without a uuid has its own finding.
    node.uuid === null ? NONE : misfits(desired, making.validate, where),
  ]);
  const boot = keeps ? bootPlan(source, chosen.conf, set, mapping.target) : undefined;
  return judged(source, chosen, findings, desired, boot);
}

function judged(
  { node }: Machine,
  { decided, decision: { row, outcome } }: Chosen,
  found: readonly Finding[],
  desired: readonly Desired[],
  boot?: BootPlan,
): Transformed {
  const findings = accept(found, decided.accept);
  const skipped = node.deleted === true ? "soft-deleted in nova_bm" : decided.skip;
  const blocked = findings.some(blocks) && decided.skip === null;
  return {
    desired: blocked || skipped !== null ? [] : desired,
    findings,
    blocked,
    skipped,
    state: { row: node.deleted === true ? "deleted" : row.id, outcome },
    accept: decided.accept,
    ...(boot !== undefined && { boot }),
  };
}

function portOf(
  { node }: Machine,
  { address, vif, interface: row }: PortSource,
  { sources, port: rules }: MadeNode,
): Made {
  // By name, because a spread takes longer than all rules of a port.
  const { bm_nodes, nova, flavor, image, boot, machine, power } = sources;
  const bm_interfaces = row === null ? null : columnsOf(row);
  const uuid = portUuid(node.uuid?.toLowerCase() ?? "", address);
  const port = { uuid, address, vif };
  const all = { bm_nodes, nova, flavor, image, boot, machine, power, bm_interfaces, port };
  const where = row === null ? `bm_nodes.id=${node.id}` : `bm_interfaces.id=${row.id}`;
  return makeRecord("port", rules, all, where);
}

const NONE: readonly Finding[] = [];

function misfits(
  desired: readonly Desired[],
  validate: Validate,
  where: string,
): readonly Finding[] {
  return desired.flatMap(({ id, resource, row }) =>
    validate(resource, row).map((fault) => finding("N2I-D401", `${where} ${id}`, fault)),
  );
}

/** Fields of the site document that nothing writes, and values in columns that no rule reads. */
function unused(
  { node, interfaces }: Machine,
  { decided, driver }: Chosen,
  where: string,
): readonly Finding[] {
  if (driver === null) return NONE;
  const { settable, unread } = driver.program;
  const fields = Object.keys(decided.set).filter((field) => !settable.has(field));
  const lost = unread.flatMap((name) => {
    const [table, column = ""] = name.split(".");
    const rows = table === "bm_nodes" ? [node] : interfaces;
    return rows
      .filter((row) => (columnsOf(row)[column] ?? null) !== null)
      .map(({ id }) => finding("N2I-D008", `${table}.id=${id} ${column}`, `no rule reads ${name}`));
  });
  const unset = `set, but not written: ${fields.join(", ")}`;
  return merge([lost, findingIf(fields.length > 0, "N2I-D309", where, unset)]);
}
