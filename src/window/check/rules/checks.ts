import { createSeveral, type Several } from "../../../lib/text.ts";
import {
  type BmFacts,
  CHECK_STATUS,
  type CheckResult,
  type CheckView,
  type IronicFacts,
  type LineFacts,
} from "../../../model/check.ts";
import { index } from "../../../model/rows.ts";
import { CLOUD } from "./cloud.ts";
import { DEPLOYMENT } from "./deployment.ts";
import {
  checkWithPlan,
  countOf,
  fine,
  isRefused,
  joined,
  lower,
  machinesBy,
  planned,
  readable,
  resultOf,
  textsOf,
  unseen,
  warning,
} from "./part.ts";
import { RECORDS } from "./records.ts";
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
const loaded = checkWithPlan("Instances planned and loaded", ["bm"], (view) => {
  const { bm, ironic, plan } = view;
  const line = planned(plan);
  return joined([
    resultOf(
      apart(view, bm),
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
    isRefused(ironic) ? unseen("--ironic-db") : counted(view, bm, ironic.nodes),
  ]);
});

/** The rows of `check`, in the order of the migration. */
const CHECKS = [...DEPLOYMENT, ...SOURCE, loaded, ...RECORDS, ...CLOUD, ...LATER, ...TARGET];

const STATES = { absent: "does not exist", other: "is not a run", run: "has no plan" } as const;

/** Without a plan, a successful check that needs one becomes a warning. */
export function checkAll(view: CheckView): readonly CheckRow[] {
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

/** Different instances in the plan or in Ironic, then unknown ones. */
function apart(view: CheckView, bm: BmFacts): Several {
  const { ironic, plan } = view;
  const found = createSeveral();
  const [lines, nodes] = [planned(plan), index(readable(ironic)?.nodes ?? [], "uuid")];
  for (const { id, uuid, instance_uuid } of bm.nodes) {
    const line = lines({ id, uuid });
    const node = nodes(uuid).at(-1);
    const bare = bareBy(line);
    const has = bare === null ? `has ${instance_uuid ?? "none"}` : `loads no instance (${bare})`;
    const compare = (location: string, instance: string | null): void => {
      if (lower(instance) !== (bare === null ? lower(instance_uuid) : ""))
        found.add(`bm_nodes.id=${id} ${has}, ${instance ?? "none"} in ${location}`);
    };
    if (plan !== null && line === undefined && instance_uuid && !plan.skipped.has(id))
      found.add(`bm_nodes.id=${id} has ${instance_uuid}, and is not in the plan`);
    if (line !== undefined && !line.blocked) compare("the plan", line.instance_uuid);
    if (node !== undefined) compare("Ironic", node.instance_uuid);
  }
  for (const text of unlisted(view, bm)) found.add(text);
  return found;
}

function counted({ plan }: CheckView, bm: BmFacts, nodes: IronicFacts["nodes"]): CheckResult {
  const tenants = countOf(bm.nodes, ({ instance_uuid }) => instance_uuid);
  const loaded = countOf(nodes, ({ instance_uuid }) => instance_uuid);
  if (plan === null) return fine(`${tenants} in nova_bm, ${loaded} in Ironic.`);
  const planned = countOf(plan.machines, (line) => !line.blocked && line.instance_uuid);
  const skipped = countOf(bm.nodes, (node) => node.instance_uuid && plan.skipped.has(node.id));
  const excluded = skipped === 0 ? "" : `, ${skipped} skipped by the site document`;
  return fine(`${tenants} in nova_bm, ${planned} in the plan${excluded}, ${loaded} in Ironic.`);
}

/** Machines and instances of plan and Ironic that nova_bm or nova no longer has. */
function* unlisted(
  { ironic, nova, plan, loadedNodes: startedChanges }: CheckView,
  bm: BmFacts,
): Generator<string> {
  const [machines, claims] = [machinesBy(bm, "uuid"), machinesBy(bm, "instance_uuid")];
  const instances = readable(nova)?.instances;
  const rows = index(instances ?? [], "uuid");
  const lines = planned(plan);
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
    if (!startedChanges.has(uuid)) continue;
    const live = rows(instance).some(({ deleted }) => !deleted);
    if (machineId === undefined)
      yield `node ${uuid} was loaded by this run, but is no longer in nova_bm`;
    else if (
      instance !== "" &&
      instances !== undefined &&
      !live &&
      lines({ uuid })?.findings.get("N2I-D201") !== true
    )
      yield `node ${uuid} has ${instance} in Ironic, and nova no longer has it`;
  }
}
