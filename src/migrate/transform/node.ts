import type { Json, JsonObject } from "../../lib/json.ts";
import type { Finding } from "../../model/findings.ts";
import { columnsOf, type HostConfig, type Machine } from "../../model/machine.ts";
import type { DriverRow, Mapping, Rule, StateOutcome, TargetDoc } from "../../model/mapping.ts";
import type { PowerReading } from "../../model/power.ts";
import {
  compileRules,
  type OriginTable,
  type RuleSources,
  type SettledRules,
  settleRules,
} from "./compile.ts";
import { CHECKS, flavorArch } from "./convert.ts";
import { driverOf, hostOf } from "./driver.ts";
import { interfacesFor } from "./hardware.ts";
import { type Made, makeRecord } from "./record.ts";
import { asRead, compileSite, type Decided, nested } from "./site.ts";
import { type Decision, decide, factsOf, type StateFacts } from "./state.ts";
import { bootSource } from "./tenant.ts";

export interface Chosen {
  readonly decided: Decided;
  readonly conf: HostConfig | null;
  readonly facts: StateFacts;
  readonly decision: Decision;
  /** Null if no driver supports the machine. The findings give the reason. */
  readonly driver: { readonly row: DriverRow; readonly program: Program } | null;
  readonly findings: readonly Finding[];
}

/** A node's record, with the input of its ports. */
export interface MadeNode extends Made {
  readonly sources: ReturnType<typeof machineSources>;
  readonly keeps: boolean;
  readonly port: SettledRules;
}

/**
 * Rules of the site document, and of the driver_info and properties in its entries. They come
 * first, so they take precedence. Values pass the same checks.
 */
function siteRules({ site }: Mapping, rules: readonly Rule[]): readonly Rule[] {
  const fields = site.machines.flatMap(({ set = {} }) => Object.keys(nested(set)));
  const set = [...new Set(fields)].map((to): Rule => ({ to, from: `site.${to}` }));
  return [...site.rules.node, ...set].map((rule) => {
    const as = rules.find(({ to }) => to === rule.to)?.as;
    return rule.as === undefined && as !== undefined && CHECKS.has(as) ? { ...rule, as } : rule;
  });
}

/** The rules of one driver in one release, and the source columns that they do not read. */
type Program = ReturnType<typeof compileProgram>;

/** Read from the site document by code, because the driver is selected before rules run. */
const CHOOSES = ["driver", "power_manager", "credentials_charset", "driver_info", "properties"];

/** Compiles one driver's rules and finds unread columns. @param columns found columns by table */
export function compileProgram(
  mapping: Mapping,
  driver: DriverRow,
  columns: { readonly [table: string]: readonly string[] },
  origins: OriginTable,
) {
  const { rules, site, target } = mapping;
  const nodeRules = [...driver.rules, ...rules.node];
  const written = {
    node: [...siteRules(mapping, nodeRules), ...nodeRules],
    port: [...site.rules.port, ...rules.port],
  };
  const compile = (table: "node" | "port") =>
    compileRules(written[table], mapping.columns[table], target, driver.name, origins);
  const [node, port] = [compile("node"), compile("port")];
  const sources = [...written.node, ...written.port].flatMap(({ from }) => from ?? []);
  const used = new Set([
    ...sources.map((text) => text.split("|")[0]),
    ...[rules.reads, rules.drops, driver.drops, site.drops].flatMap(Object.keys),
  ]);
  const read = [...node, ...port].flatMap(({ alternatives }) => alternatives);
  const set = read.filter(({ input }) => input === "site").map(({ field }) => field);
  return {
    ...{ node, port },
    /** Fields of a site entry that this release supports. */
    settable: new Set([...CHOOSES, ...set]),
    /** Snapshot columns that no rule reads and no document drops: `bm_nodes.rack`. */
    unread: ["bm_nodes", "bm_interfaces"]
      .flatMap((table) => (columns[table] ?? []).map((column) => `${table}.${column}`))
      .filter((column) => !used.has(column)),
  };
}

/** Makes node records, for the plan and for power. @param columns found columns by table */
export function createNodes(
  mapping: Mapping,
  hosts: readonly HostConfig[],
  columns: { readonly [table: string]: readonly string[] },
  origins: OriginTable,
) {
  const programs = new Map<string, Program>(
    mapping.drivers.drivers.map((row) => [
      row.name,
      compileProgram(mapping, row, columns, origins),
    ]),
  );
  const site = compileSite(mapping.site);
  const rulesOf = rulesFor(mapping);
  return {
    choose(machine: Machine): Chosen {
      const decided = site.of(machine);
      const { flat: set } = decided;
      const conf = hostOf(machine, hosts);
      const facts = factsOf(machine);
      const { row, findings } = driverOf(machine, conf, set, mapping);
      const program = row === null ? undefined : programs.get(row.name);
      const driver = row === null || program === undefined ? null : { row, program };
      const decision = decide(facts, mapping.states, decided.accept);
      return { decided, conf, facts, decision, driver, findings };
    },
    /** The planned node. @param reading the power state to write, if any */
    make(
      machine: Machine,
      chosen: Chosen & { readonly driver: NonNullable<Chosen["driver"]> },
      reading?: PowerReading,
    ): MadeNode {
      const { conf, driver, decision } = chosen;
      const { flat: set } = chosen.decided;
      const { program, row } = driver;
      const rules = rulesOf(set, row, { program, conf, outcome: decision.outcome });
      const sources = machineSources(asRead(machine, set), set, rules, mapping.target, reading);
      const where = `bm_nodes.id=${machine.node.id}`;
      const { record, findings } = makeRecord("node", rules.node, sources, where);
      return { record, findings, sources, keeps: rules.keeps, port: rules.port };
    },
    /** Findings of site entries without a machine. */
    unmatched: site.unmatched,
  };
}

/** A record's fields by name, for rules, which do not depend on its type. */
function fieldsOf(record: object | null | undefined): { readonly [field: string]: unknown } | null {
  return (record ?? null) as { readonly [field: string]: unknown } | null;
}

interface Settled {
  readonly program: Program;
  readonly conf: HostConfig | null;
  readonly outcome: StateOutcome;
}

/** The rules for machines with the same settings. */
type RulesFor = ReturnType<typeof settleFor>;

function settleFor(mapping: Mapping, set: JsonObject, row: DriverRow, is: Settled) {
  const keeps = mapping.states.outcomes[is.outcome].instance;
  const fixed = fixedSources(set, row, is, mapping);
  const capabilities = { ...is.conf?.extra_specs, ...mapping.target.capabilities };
  return {
    ...{ ...is, keeps },
    // In Ironic's format: `k1:v1,k2:v2`.
    capabilities: Object.entries(capabilities)
      .map(([key, value]) => `${key}:${value}`)
      .join(","),
    node: settleRules(is.program.node, fixed, keeps),
    port: settleRules(is.program.port, fixed, keeps),
  };
}

/** Evaluates rules once for all machines with the same settings and site document values. */
function rulesFor(mapping: Mapping): (set: JsonObject, row: DriverRow, is: Settled) => RulesFor {
  const bySet = new WeakMap<JsonObject, Map<HostConfig | null, RulesFor[]>>();
  return (set, row, is) => {
    const { program, conf, outcome } = is;
    const byConf = bySet.get(set) ?? new Map<HostConfig | null, RulesFor[]>();
    bySet.set(set, byConf);
    const cached = byConf.get(conf) ?? [];
    const found = cached.find((one) => one.program === program && one.outcome === outcome);
    if (found !== undefined) return found;
    const made = settleFor(mapping, set, row, is);
    byConf.set(conf, [...cached, made]);
    return made;
  };
}

/** The sources that machines with the same settings share. @source facts/nova-bm.md 3.1-3.2, 4.1 */
function fixedSources(
  site: JsonObject,
  { name }: DriverRow,
  { conf, outcome }: Settled,
  { target, hardware }: Mapping,
): RuleSources {
  const usual = target.drivers[name];
  const state = target.states[outcome] ?? {};
  return {
    conf: fieldsOf(conf),
    site,
    driver: usual ? interfacesFor(usual, site.driver, hardware) : null,
    // Ironic refuses a protected_reason on an unprotected node.
    state: site.protected === false ? { ...state, protected_reason: null } : state,
    target: {
      node_version: target.versions.node,
      port_version: target.versions.port,
      boot_option: target.boot_option,
      network_interface: target.network_interface,
    },
  };
}

/** Keys of the ssh driver in the site document that replace nova.conf's password. */
const SSH_KEYS = ["driver_info.ssh_key_filename", "driver_info.ssh_key_contents"];

/**
 * The machine's own sources for rules of the node table. Even in maintenance, Nova would undeploy a
 * node that names a deleted instance.
 * @source facts/nova-bm.md 5.4, facts/ironic.md 5.2; facts/rehearsal.md 5
 */
function machineSources(
  machine: Machine,
  site: JsonObject,
  { keeps, conf, capabilities: able }: RulesFor,
  target: TargetDoc,
  reading: PowerReading | undefined,
) {
  const { node, nova } = machine;
  const flavor = nova?.instance?.flavor ?? null;
  const reaped = nova?.instance?.deleted === true;
  // ephemeral_mb is stale on released nodes and NULL before version 9.
  const { ephemeral_mb: mb } = node;
  const hasNoDisk = nova?.instance || typeof mb !== "number" || mb <= 0;
  const fields: { readonly [field: string]: Json } = {
    capabilities: able,
    ephemeral_gb: hasNoDisk ? null : Math.ceil(mb / 1024),
    released_instance: keeps && !reaped ? null : node.instance_uuid,
    // Ironic's ssh driver needs exactly one login. nova-baremetal preferred the key.
    ssh_password:
      conf === null || conf.virtual_power_host_key || SSH_KEYS.some((key) => site[key])
        ? null
        : conf.virtual_power_host_pass,
  };
  return {
    bm_nodes: reaped ? { ...columnsOf(node), instance_uuid: null } : columnsOf(node),
    nova: fieldsOf(nova?.instance),
    flavor:
      flavor === null
        ? null
        : { swap: flavor.swap, cpu_arch: flavorArch(flavor.extra_specs.cpu_arch) },
    image: nova?.instance
      ? {
          kernel_id: nova.instance.system_metadata.image_kernel_id,
          ramdisk_id: nova.instance.system_metadata.image_ramdisk_id,
        }
      : null,
    boot: fieldsOf(bootSource(machine, site, target)),
    machine: fields,
    power: reading?.power ? { state: `power ${reading.power}` } : null,
  } satisfies RuleSources;
}
