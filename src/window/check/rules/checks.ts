import { counted, createSeveral, type Several } from "../../../lib/text.ts";
import {
  CHECK_STATUS,
  type CheckResult,
  type CheckView,
  type LineFacts,
} from "../../../model/check.ts";
import type { FindingCode } from "../../../model/findings.ts";
import { LIBERTY, versionName } from "../../../model/nova/nova-release.ts";
import { index } from "../../../model/rows.ts";
import { CLOUD } from "./cloud.ts";
import { DEPLOYMENT } from "./deployment.ts";
import {
  check,
  countOf,
  type Deployment,
  fine,
  isRefused,
  joined,
  judged,
  lookupsOf,
  lower,
  readable,
  resultOf,
  textsOf,
  unreadable,
  unseen,
  warning,
} from "./part.ts";
import { SOURCE } from "./source.ts";
import { LATER, TARGET } from "./target.ts";

export interface CheckRow extends CheckResult {
  readonly title: string;
}

/** Findings for which a machine loses its instance: nova has it elsewhere or has deleted it. */
const BARE = ["N2I-D103", "N2I-D202"];

/** The finding for which the plan loads a machine without its instance. Null: none. */
function bareBy(line: LineFacts | undefined): string | null {
  if (line === undefined || line.blocked || line.instance_uuid !== null) return null;
  return BARE.find((code) => line.findings.has(code)) ?? null;
}

/**
 * Compares machines and instances of plan and Ironic with nova_bm and nova, in both directions.
 * @source facts/rehearsal.md 3: a node without its instance is never powered off
 */
const loaded = check("Instances planned and loaded", ["bm", "plan"], (view) => {
  const { bm, ironic, line } = view;
  return joined([
    resultOf(
      apart(view),
      "machines whose instance differs in the plan, Ironic or nova",
      "run extract and plan again. Roll back a loaded node first",
    ),
    resultOf(
      textsOf(bm.nodes, ({ id, uuid, instance_uuid }) => {
        const code = bareBy(line({ id, uuid }));
        return code === null ? null : `bm_nodes.id=${id} ${lower(instance_uuid)} (${code})`;
      }),
      "machines that are loaded without their instance in nova_bm",
      "run explain for the listed finding. The rows Duplicate and Deleted instances have the fix",
      "Warning",
    ),
    isRefused(ironic) ? unseen("--ironic-db") : fine(countsText(view)),
  ]);
});

/** Different instances in the plan or in Ironic, then unknown ones. */
function apart(view: Deployment<"bm">): Several {
  const { bm, ironic, plan, line: lineOf, isSkipped } = view;
  const found = createSeveral();
  const nodes = index(readable(ironic)?.nodes ?? [], "uuid");
  for (const { id, uuid, instance_uuid } of bm.nodes) {
    const line = lineOf({ id, uuid });
    const node = nodes(uuid).at(-1);
    const bare = bareBy(line);
    const has = bare === null ? `has ${instance_uuid ?? "none"}` : `loads no instance (${bare})`;
    const compare = (location: string, instance: string | null): void => {
      if (lower(instance) !== (bare === null ? lower(instance_uuid) : ""))
        found.add(`bm_nodes.id=${id} ${has}, ${instance ?? "none"} in ${location}`);
    };
    if (plan !== null && line === undefined && instance_uuid && !isSkipped(id))
      found.add(`bm_nodes.id=${id} has ${instance_uuid}, and is not in the plan`);
    if (line !== undefined && !line.blocked) compare("the plan", line.instance_uuid);
    if (node !== undefined) compare("Ironic", node.instance_uuid);
  }
  for (const text of unlisted(view)) found.add(text);
  return found;
}

function countsText({ bm, ironic, plan, isSkipped }: Deployment<"bm">): string {
  const tenants = countOf(bm.nodes, ({ instance_uuid }) => instance_uuid);
  const nodes = readable(ironic)?.nodes ?? [];
  const loaded = countOf(nodes, ({ instance_uuid }) => instance_uuid);
  if (plan === null) return `${tenants} in nova_bm, ${loaded} in Ironic.`;
  const planned = countOf(plan.machines, (line) => !line.blocked && line.instance_uuid);
  const skipped = countOf(bm.nodes, (node) => node.instance_uuid && isSkipped(node.id));
  const excluded = skipped === 0 ? "" : `, ${skipped} skipped by the site document`;
  return `${tenants} in nova_bm, ${planned} in the plan${excluded}, ${loaded} in Ironic.`;
}

/** Machines and instances of plan and Ironic that nova_bm or nova no longer has. */
function* unlisted(view: Deployment<"bm">): Generator<string> {
  const { ironic, nova, plan, loadedNodes, machines, claims, line } = view;
  const instances = readable(nova)?.instances;
  const rows = index(instances ?? [], "uuid");
  for (const { uuid, blocked } of plan?.machines ?? [])
    if (!blocked && machines(uuid).length === 0)
      yield `node ${uuid} is planned, but no longer in nova_bm`;
  for (const { uuid, instance_uuid } of readable(ironic)?.nodes ?? []) {
    const instance = lower(instance_uuid);
    const claimed = claims(instance);
    const machineId = machines(uuid).at(-1);
    if (claimed.length > 0 && (machineId === undefined || !claimed.includes(machineId))) {
      yield `bm_nodes.id=${claimed.join(" and ")} has ${instance}, and so has node ${uuid} in Ironic`;
      continue;
    }
    // Foreign nodes are not checked.
    if (!loadedNodes.has(uuid)) continue;
    const live = rows(instance).some(({ deleted }) => !deleted);
    const accepted = line({ uuid })?.findings.get("N2I-D201") === true;
    if (machineId === undefined)
      yield `node ${uuid} was loaded by this run, but is no longer in nova_bm`;
    else if (instance !== "" && instances !== undefined && !live && !accepted)
      yield `node ${uuid} has ${instance} in Ironic, and nova no longer has it`;
  }
}

/** Findings that block a machine whose instance is on a wrong host, and that can be accepted. */
const ACCEPTABLE: readonly FindingCode[] = ["N2I-D225", "N2I-D226", "N2I-D227"];

/**
 * Compares each instance's planned host and node with its machine's nova-compute.
 * @source facts/nova-bm.md 5.2, 5.3; facts/rehearsal.md 5
 */
const hosts = check("Hosts of instances", ["bm", "nova", "plan"], (view) => {
  const clustered = readable(view.ironic)?.clustered === true;
  const [open, taken] = [createSeveral(), createSeveral()];
  /** The host of the first instance without a fault. */
  let only: string | null | undefined;
  let count = 0;
  for (const { uuid, host, fault, accepted } of tenantsOf(view)) {
    count += 1;
    if (fault === null && only === undefined) only = host;
    const apart = clustered && host !== only ? `${uuid} under ${host}, others under ${only}` : null;
    const what = fault ?? apart;
    if (what !== null) (accepted ? taken : open).add(what);
  }
  if (open.length + taken.length === 0)
    return fine(
      `${counted(count, "instance has", "instances have")} the nova-compute host of the machine.`,
    );
  const what = "instances whose host is not the nova-compute of their machine";
  const fix =
    "nova2ironic plan --nova-db DB --compute-host NAME, then apply --nova-db DB; explain N2I-D225 and N2I-D227";
  return open.length > 0
    ? resultOf(open, `${what}, and which nova-compute through Kilo destroys when it starts`, fix)
    : resultOf(taken, `${what}, as you accepted`, fix, "Warning");
});

function* tenantsOf({ bm, nova, plan, line: lineOf, isSkipped }: Deployment<"bm" | "nova">) {
  const instances = index(nova.instances, "uuid");
  const services = new Set([...nova.beats.map(({ host }) => host), ...(plan?.nova?.hosts ?? [])]);
  for (const { id, uuid: machine, instance_uuid, service_host } of bm.nodes) {
    const row = instances(instance_uuid).at(-1);
    // Missing and deleted instances have their own rows.
    if (row === undefined || row.deleted || isSkipped(id)) continue;
    const line = lineOf({ uuid: machine, id });
    const held = ACCEPTABLE.filter((code) => line?.findings.has(code));
    // A machine that is not loaded, or loaded without its instance, is not at risk.
    if (line?.blocked ? held.length === 0 : line?.instance_uuid === null) continue;
    const uuid = lower(instance_uuid);
    const { host, node } = plan?.nova?.movedTo.get(uuid) ?? row;
    const runs = line?.host ?? service_host;
    const under = `${uuid} under ${host ?? "none"}`;
    /** Of the instance's location. */
    let fault: string | null = null;
    if (host !== runs) fault = `${under}, its nova-compute is ${runs ?? "none"}`;
    else if (lower(node) !== lower(machine))
      fault = `${uuid} on node ${node ?? "none"}, its machine is ${machine ?? "none"}`;
    else if (runs === null || !services.has(runs))
      fault = `${under}, which is not a nova-compute host`;
    const accepted = held.some((code) => line?.findings.get(code) === true);
    yield { uuid, host, fault, accepted };
  }
}

/**
 * Since Liberty, nova-compute destroys by evacuation records. Before, it destroys at start every
 * instance of another host that its driver reports.
 * @source facts/nova-bm.md 5.3; facts/rehearsal.md 5
 */
const evacuations = check("Evacuation records", ["bm", "nova"], (view) => {
  const { nova, claims } = view;
  const { evacuations: records } = nova;
  if (records === null && nova.version >= LIBERTY)
    return warning(
      `Nova ${versionName(nova.version)} keeps evacuation records, but they cannot be read, because there is no migrations table with a migration_type.`,
      "GRANT SELECT on migrations to this user, or compare --nova-db",
    );
  if (records === null) {
    const { result, details } = hosts.inspect(view);
    const habit =
      "This Nova does not keep evacuation records. Through Kilo, when nova-compute starts, it destroys every instance on its machines that has a different host";
    return result === "Success"
      ? fine(`${habit}. No instance will have a different host.`)
      : { result, details: `${habit}. ${details}` };
  }
  return judged(
    view,
    records.map(({ instance_uuid, source }) => ({
      text: `${instance_uuid} from ${source}`,
      machines: claims(instance_uuid),
    })),
    [],
    "evacuation records: nova-compute destroys the instance when it starts",
    "keep what SELECT * FROM migrations WHERE migration_type='evacuation' prints; then UPDATE migrations SET status='completed' WHERE migration_type='evacuation' AND status IN ('accepted','pre-migrating','done') AND deleted=0 AND instance_uuid='INSTANCE'",
  );
});

/** Ironic before Pike cannot attach volumes. @source facts/nova-bm.md 5.1 */
const volumes = check("Attached volumes", ["bm", "nova"], (view) => {
  const { nova, claims } = view;
  if (nova.volumes === null) return unreadable("--nova-db", "block_device_mapping");
  const found = nova.volumes.map((uuid) => ({ text: uuid, machines: claims(uuid) }));
  const fix = "nova volume-detach INSTANCE VOLUME";
  return judged(view, found, ["N2I-D220"], "instances with volumes attached", fix);
});

/**
 * nova-compute undeploys machines of deleted or reclaimed instances. @source facts/ironic.md 5.2;
 * nova 2014.2:nova/compute/manager.py _reclaim_queued_deletes
 */
const reaped = check("Deleted instances", ["bm", "nova"], (view) => {
  const { bm, nova, claims, isSkipped } = view;
  const rows = index(nova.instances, "uuid");
  const queued = createSeveral();
  // It can be restored until Nova removes it after reclaim_instance_interval.
  for (const { uuid, deleted, vm_state } of nova.instances)
    for (const id of deleted || vm_state !== "soft-delete" ? [] : claims(uuid))
      if (!isSkipped(id)) queued.add(`bm_nodes.id=${id} ${uuid}`);
  return joined([
    judged(
      view,
      bm.nodes.flatMap(({ id, instance_uuid }) =>
        rows(instance_uuid).some(({ deleted }) => deleted)
          ? [{ text: `bm_nodes.id=${id} ${instance_uuid}`, machines: [id] }]
          : [],
      ),
      ["N2I-D202"],
      "machines whose instance is deleted in nova, and which nova-compute would tear down",
      "run nova2ironic explain N2I-D202, and decide on each machine. Until then, set running_deleted_instance_action=noop in every nova.conf",
    ),
    resultOf(
      queued,
      "machines whose tenant deleted the instance, which nova-compute tears down after reclaim_instance_interval",
      "nova restore INSTANCE to keep it, or nova force-delete INSTANCE to delete it",
      "Warning",
    ),
  ]);
});

/** The rows of `check`, in the order of the migration. */
const CHECKS = [
  ...[...DEPLOYMENT, ...SOURCE, loaded, reaped, hosts, evacuations, volumes],
  ...[...CLOUD, ...LATER, ...TARGET],
];

const STATES = { absent: "does not exist", other: "is not a run", run: "has no plan" } as const;

/** Without a plan, a successful check that needs one becomes a warning. */
export function checkAll(facts: CheckView): readonly CheckRow[] {
  const view = { ...facts, ...lookupsOf(facts) };
  const { path, is } = view.run;
  const first = is === "run" ? "" : "correct --run, or run nova2ironic extract, then ";
  const what = `Not compared with a plan: ${path} ${STATES[is]}.`;
  return CHECKS.map(({ title, planned, inspect }) => {
    const found = inspect(view);
    return !planned || view.plan !== null || found.result !== "Success"
      ? { title, ...found }
      : { title, ...joined([warning(what, `${first}nova2ironic plan`), found]) };
  });
}

/** The worst row decides. */
export function statusOfChecks(rows: readonly CheckRow[]): number {
  return Math.max(0, ...rows.map(({ result }) => CHECK_STATUS[result].status));
}
