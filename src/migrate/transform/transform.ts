import type { JsonObject } from "../../lib/json.ts";
import { portUuid } from "../../lib/uuid.ts";
import type { BootPlan } from "../../model/boot.ts";
import { accept, blocks, type Finding, finding, together } from "../../model/finding.ts";
import { columnsOf, type HostConfig, type Machine } from "../../model/machine.ts";
import type { Mapping } from "../../model/mapping.ts";
import type { Desired, Resource } from "../../model/plan.ts";
import type { ConductorIpmitool } from "../../model/power.ts";
import { type ConductorTraits, gate, isAbout, type PowerView } from "../power/rules/gate.ts";
import { bootPlan, bootsAsRamdisk, inspectRoots } from "./boot.ts";
import { createOrigins } from "./compile.ts";
import { inspectHost, inspectLogin, inspectPower, inspectShared } from "./driver.ts";
import { inspectDeploy, inspectHardware } from "./hardware.ts";
import { type Chosen, createNodes, type MadeNode, type Nodes } from "./node.ts";
import { inspectAddress, wayOfMachine } from "./power-way.ts";
import type { Program } from "./program.ts";
import { type Made, makeRecord } from "./record.ts";
import { asRead } from "./site.ts";
import { stateFindings } from "./state.ts";
import { inspectRebuild, inspectTenant } from "./tenant.ts";
import { type PortSource, portsOf } from "./vif.ts";

/** What one machine becomes: records, or the reason why there are none. */
export interface Transformed {
  readonly desired: readonly Desired[];
  readonly findings: readonly Finding[];
  readonly blocked: boolean;
  /** Why it is left out for good; null when it is not. */
  readonly skipped: string | null;
  readonly state: { readonly row: string; readonly outcome: string };
  /** How its tenant boots, where it keeps one. */
  readonly boot?: BootPlan;
}

/** A machine with more found, which may keep it from being loaded. */
export function withFindings(made: Transformed, found: readonly Finding[]): Transformed {
  if (found.length === 0) return made;
  const findings = [...made.findings, ...found];
  return found.some(blocks)
    ? { ...made, findings, blocked: true, desired: [] }
    : { ...made, findings };
}

/** Tells how a record breaks the release's schema; empty when it fits. */
export type Validate = (resource: Resource, row: Desired["row"]) => readonly string[];

interface Source {
  readonly hosts: readonly HostConfig[];
  /** What was found, by table. */
  readonly columns: { readonly [table: string]: readonly string[] };
}

/**
 * What Ironic should hold, given what nova_bm held. Pure: the same snapshot and mapping give the
 * same records, byte for byte, so a plan can be reviewed today and applied tomorrow.
 *
 * @param power what the BMCs said; null when nobody wants to know
 * @param ipmitool of the conductors, where it is not what the release came with
 */
export function createTransform(
  mapping: Mapping,
  { hosts, columns }: Source,
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
    /** What the site document says of machines that never came. */
    unmatched: nodes.unmatched,
    /** Every origin the rules can give: what `Desired.origins` points into. */
    origins: origins.table,
  };
}

/** What every machine of a plan is made with. */
interface Making {
  readonly mapping: Mapping;
  readonly nodes: Nodes;
  readonly validate: Validate;
  readonly power: PowerView | null;
  readonly conductor: ConductorTraits;
  /** BMC, outlet or port of a console -> bm_nodes.id of the first machine with it. */
  readonly claims: Map<string, number>;
}

function transformed(making: Making, source: Machine): Transformed {
  const { mapping, nodes, power, conductor } = making;
  const { node } = source;
  const chosen = nodes.choose(source);
  const { decision, driver, set } = chosen;
  const where = `bm_nodes.id=${node.id}`;
  if (node.deleted === true) return judged(source, chosen, source.findings, []);

  const found = together([
    asRead(source, set).findings,
    chosen.findings,
    stateFindings(decision, chosen.facts, where),
  ]);
  if (driver === null) return judged(source, chosen, found, []);

  const plain = nodes.make(source, { ...chosen, driver });
  // A machine with an unreadable address is not compared. One that is not loaded still has its power outlet.
  const isComparable = !plain.findings.some(blocks);
  const shared = isComparable ? inspectShared(plain.record.row, node.id, making.claims) : NONE;
  if (decision.outcome === "block") return judged(source, chosen, together([found, shared]), []);

  const reading = power?.readings.get(node.id);
  // Without a reading nobody looks at how it is to be asked.
  const way =
    reading === undefined
      ? null
      : wayOfMachine(source, driver.row, plain.record.row, conductor.keys);
  // What another BMC said would be enforced on this machine.
  const recorded = power?.record === true && way !== null && isAbout(reading, node.id, way);
  const own = recorded ? nodes.make(source, { ...chosen, driver }, reading) : plain;
  const ports = portsOf(source).map((port) => portOf(source, port, own));
  const desired = [own.record, ...ports.map(({ record }) => record)];
  const { row } = own.record;
  const unusable = inspectAddress(plain.record.row, where);
  const { keeps } = own;
  const findings = together([
    found,
    inspectHost(source, chosen.conf),
    inspectPower(source, driver.row),
    unusable,
    inspectLogin(driver.row, row, node.id),
    shared,
    inspectHardware(row, mapping, driver.row, where),
    inspectDeploy(row, where),
    unread(source, driver.program),
    placeless(chosen.decided.set, driver.program, where),
    inspectTenant(source, decision.outcome, mapping, bootsAsRamdisk(set, mapping.target)),
    keeps ? inspectRoots(source, set, where) : NONE,
    keeps ? inspectRebuild(source, row, where) : NONE,
    own.findings,
    ...ports.map((port) => port.findings),
    power === null || unusable.length > 0 ? NONE : gate(source, reading, way, conductor, power),
    // A record without a uuid has a finding of its own that says why.
    node.uuid === null ? NONE : misfits(desired, making.validate, where),
  ]);
  const boot = keeps ? bootPlan(source, chosen.conf, set, mapping.target) : undefined;
  return judged(source, chosen, findings, desired, boot);
}

/** What comes of a machine with these findings, once the site document has accepted some. */
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
    ...(boot !== undefined && { boot }),
  };
}

/** The record of a port, made of what its node was made of. */
function portOf(
  { node }: Machine,
  { address, vif, interface: row }: PortSource,
  { sources, port: rules }: MadeNode,
): Made {
  const uuid = portUuid(node.uuid?.toLowerCase() ?? "", address);
  // Each place by its name: to copy what is there takes longer than all rules of a port.
  const own = {
    bm_nodes: sources.bm_nodes,
    nova: sources.nova,
    flavor: sources.flavor,
    image: sources.image,
    boot: sources.boot,
    machine: sources.machine,
    power: sources.power,
    bm_interfaces: row === null ? null : columnsOf(row),
    port: { uuid, address, vif },
  };
  const where = row === null ? `bm_nodes.id=${node.id}` : `bm_interfaces.id=${row.id}`;
  return makeRecord("port", rules, own, where);
}

const NONE: readonly Finding[] = [];

/** Where records do not fit the release's schema. */
function misfits(
  desired: readonly Desired[],
  validate: Validate,
  where: string,
): readonly Finding[] {
  let found = NONE;
  for (const { id, resource, row } of desired)
    for (const fault of validate(resource, row))
      found = [...found, finding("N2I-D401", `${where} ${id}`, fault)];
  return found;
}

/** What the operator set and nothing writes, in one finding. */
function placeless(set: JsonObject, { settable }: Program, where: string): readonly Finding[] {
  let fields: readonly string[] | null = null;
  // Read from a document: nothing is inherited.
  for (const field in set) if (!settable.has(field)) fields = [...(fields ?? []), field];
  return fields === null
    ? NONE
    : [finding("N2I-D309", where, `set, and not written: ${fields.join(", ")}`)];
}

/** Values in columns that nothing reads: they would be lost. */
function unread({ node, interfaces }: Machine, program: Program): readonly Finding[] {
  if (program.unread.length === 0) return NONE;
  return program.unread.flatMap((name) => {
    const [table, column = ""] = name.split(".");
    const rows = table === "bm_nodes" ? [node] : interfaces;
    return rows
      .filter((row) => (columnsOf(row)[column] ?? null) !== null)
      .map(({ id }) =>
        finding("N2I-D008", `${table}.id=${id} ${column}`, `${name} is read by no rule`),
      );
  });
}
