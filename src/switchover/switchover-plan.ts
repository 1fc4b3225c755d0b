import { randomUUID } from "node:crypto";
import { MigrationError } from "../lib/error.ts";
import { counted, listed, NAMES } from "../lib/text.ts";
import { loadIdentical } from "../migrate/open/documents.ts";
import { openManageClients } from "../migrate/open/services.ts";
import type {
  HardwareDifference,
  IdenticalDoc,
  NodeDetail,
  SpareClass,
  SwitchFault,
} from "../model/switchover.ts";
import type { RestOptions } from "../run/cloud.ts";
import { closing } from "../run/databases.ts";
import type { Sink } from "../run/sink.ts";
import {
  nodeInDetail,
  nodesInDetail,
  readHanging,
  volumesElsewhere,
} from "../systems/ironic-api/node-detail.ts";
import type { RestService } from "../systems/ironic-api/service.ts";
import { isLocked, movingConnectors, sourceFaults, spareFaults } from "./rules/capable.ts";
import { differences, gatherSpares, likelySpares, nodeName, unlike } from "./rules/spares.ts";
import type { Switchover } from "./rules/switching.ts";
import type { OpenNova } from "./switchover-nova.ts";

export interface SwitchRequest {
  /** Uuid or name. */
  readonly source: string;
  /** Uuid or name; absent: a spare is chosen. */
  readonly destination?: string;
  readonly leaveNova: boolean;
  readonly nova?: Pick<OpenNova, "serverOf"> | null;
  /** Nodes of other switchovers in this process, by uuid. */
  readonly taken?: ReadonlySet<string>;
  /** Credentials that see every node, if the caller's credentials may not. */
  readonly everywhere?: RestService;
}

/**
 * @param show receives the hardware differences before a destination is refused
 * @throws MigrationError N2I-E306, N2I-E380 to N2I-E388
 */
export async function decide(
  service: RestService,
  doc: IdenticalDoc,
  request: SwitchRequest,
  show: (differences: readonly HardwareDifference[]) => Promise<void> = () => Promise.resolve(),
) {
  const { taken = new Set(), everywhere = service } = request;
  const destined =
    request.destination === undefined ? null : nodeOf(service, request.destination, "N2I-E384");
  // Errors of the source are reported first.
  destined?.catch(() => undefined);
  const source = await nodeOf(service, request.source, "N2I-E306");
  const spare = await destined;
  if (spare?.uuid === source.uuid)
    throw new MigrationError("N2I-E384", `${nodeName(source)} is the source itself`);
  const faults = [...takenFaults(source, taken), ...sourceFaults(source)];
  const its = spare === null ? [] : [...takenFaults(spare, taken), ...spareFaults(spare)];
  // Temporary locks of both nodes are reported first.
  refuse(source, faults.filter(isLocked));
  if (spare !== null) refuse(spare, its.filter(isLocked));
  refuse(source, faults);
  const instance_uuid = instanceOf(source, request);
  refuse(source, await sharedFaults(everywhere, source));
  const destination = spare ?? (await chosen(service, source, doc, taken));
  if (spare !== null) {
    refuse(spare, its);
    await show(differences(source, spare, doc));
    const whys = unlike(source, spare, doc);
    if (whys.length > 0)
      throw new MigrationError(
        "N2I-E386",
        `${nodeName(spare)} is not identical to ${nodeName(source)}: ${whys.join("; ")}`,
      );
  }
  const between = { source: source.uuid, destination: destination.uuid, instance_uuid };
  const isIronics = source.body.allocation_uuid === instance_uuid;
  const server = (await request.nova?.serverOf(between, isIronics)) ?? null;
  const plan: Switchover = {
    ...{ id: randomUUID(), ...between, server },
    ...{ source_name: source.name, destination_name: destination.name },
    connectors: movingConnectors(source).map(({ uuid }) => uuid),
    targets: source.targets.map(({ uuid }) => uuid),
    failed_name: source.name === null ? null : failedName(source.name),
    ...{ picked: spare === null, leave_nova: request.leaveNova },
  };
  return { plan, source, destination };
}

/** @throws MigrationError with this code if the node does not exist */
async function nodeOf(
  service: RestService,
  ident: string,
  code: "N2I-E306" | "N2I-E384",
): Promise<NodeDetail> {
  const node = await nodeInDetail(service, ident);
  if (node !== null) return node;
  throw new MigrationError(code, `Ironic has no node ${JSON.stringify(ident)}`);
}

function takenFaults({ uuid }: NodeDetail, taken: ReadonlySet<string>): readonly SwitchFault[] {
  return taken.has(uuid) ? [{ code: "N2I-E381", reason: "another switchover has it" }] : [];
}

async function sharedFaults(
  service: RestService,
  source: NodeDetail,
): Promise<readonly SwitchFault[]> {
  const sharedVolumes = await volumesElsewhere(service, source);
  return sharedVolumes.map(({ volume_id, node }) => ({
    code: "N2I-E382",
    reason: `its volume ${volume_id} also belongs to node ${node}`,
  }));
}

/** Maximum length of a node's name. @source ironic: db/sqlalchemy/models.py */
const LONGEST = 255;

function failedName(name: string): string {
  const end = `-failed-${new Date().toISOString().replaceAll(/\D/g, "").slice(0, STAMP)}`;
  return `${name.slice(0, LONGEST - end.length)}${end}`;
}

const STAMP = 14;

/** @throws MigrationError with the first error's code and all texts */
function refuse(node: NodeDetail, faults: readonly SwitchFault[]): void {
  const [first] = faults;
  if (first === undefined) return;
  const whys = faults.map(({ reason }) => reason).join("; ");
  throw new MigrationError(first.code, `${nodeName(node)}: ${whys}`);
}

/** @throws MigrationError N2I-E383, N2I-E385 */
function instanceOf(source: NodeDetail, request: SwitchRequest): string {
  const { instance_uuid, allocation_uuid } = source.body;
  const { leaveNova, nova = null } = request;
  const name = nodeName(source);
  if (typeof instance_uuid !== "string" || instance_uuid === "")
    throw new MigrationError("N2I-E383", `${name}: it has no instance`);
  if (allocation_uuid !== instance_uuid && !leaveNova && nova === null)
    throw new MigrationError(
      "N2I-E385",
      `${name}: instance ${instance_uuid} has no Ironic allocation, so it is a Nova server`,
    );
  return instance_uuid;
}

/** A node in enroll has no known power state. The switchover reads it, and skips one that is on. */
function mayBePicked({ body: { power_state: power, provision_state } }: NodeDetail): boolean {
  return power === "power off" || (power !== "power on" && provision_state === "enroll");
}

/** Reads ports and volumes only of otherwise matching nodes. @throws MigrationError N2I-E387 */
async function chosen(
  service: RestService,
  source: NodeDetail,
  doc: IdenticalDoc,
  taken: ReadonlySet<string>,
): Promise<NodeDetail> {
  const nodes: NodeDetail[] = [];
  let on = 0;
  for (const state of ["manageable", "enroll"])
    for await (const page of nodesInDetail(service, new Map(), state)) {
      const free = page.filter(({ uuid }) => !taken.has(uuid));
      const off = free.filter(mayBePicked);
      on += free.length - off.length;
      nodes.push(...off);
    }
  const { likely, nearest } = likelySpares(source, nodes, doc);
  const gathered = gatherSpares(doc);
  gathered.machine(source);
  for (const { uuid } of likely) {
    const detail = await nodeInDetail(service, uuid);
    if (detail !== null) gathered.spare(detail);
    const [candidate] = gathered.classes()[0]?.candidates ?? [];
    if (candidate !== undefined) return candidate;
  }
  const near = likely.length > 0 ? gathered.classes()[0]?.nearest : nearest;
  const passed =
    on === 0
      ? ""
      : `; ${counted(on, "node that is not off was", "nodes that are not off were")} skipped: specify a node to power it off`;
  throw new MigrationError(
    "N2I-E387",
    `no suitable destination for ${nodeName(source)}${near ? `; the closest is ${nodeName(near.spare)}: ${near.reason}` : ""}${passed}`,
  );
}

interface SparesOptions extends RestOptions {
  /** Replaces mappings/identical.json. */
  readonly identical?: string;
  readonly need?: number;
}

/**
 * Lists machines that boot from volumes by hardware, with their spares. Makes seven listings
 * regardless of the fleet: ports, portgroups, connectors, targets, and nodes in three states.
 *
 * @param show receives the classes, fewest spares first
 * @returns whether a class has fewer spares than needed
 * @throws MigrationError N2I-E100, N2I-E103, N2I-E106, N2I-E202, N2I-E208 to N2I-E212; N2I-E326 if
 * spares are needed and no machine boots from a volume
 */
export function listSpares(
  options: SparesOptions,
  { report, note }: Pick<Sink, "report" | "note">,
  show: (classes: readonly SpareClass[]) => Promise<void>,
): Promise<boolean> {
  return closing(async (keep) => {
    const { need } = options;
    const doc = await loadIdentical(options.identical);
    const { service } = await openManageClients(options, keep, report);
    const hanging = await readHanging(service);
    const gathered = gatherSpares(doc);
    for await (const page of nodesInDetail(service, hanging, "active"))
      page.forEach(gathered.machine);
    for (const state of ["manageable", "enroll"])
      for await (const page of nodesInDetail(service, hanging, state)) page.forEach(gathered.spare);
    const { incapable, unusable } = gathered;
    const classes = gathered
      .classes()
      .toSorted((one, other) => one.candidates.length - other.candidates.length);
    if (need !== undefined && classes.length === 0)
      throw new MigrationError(
        "N2I-E326",
        "no active machine that boots from a volume is visible with these credentials",
        {
          fix: "Check that these credentials may list all nodes. Members of a project see only the nodes of that project.",
        },
      );
    await show(classes);
    if (incapable.length > 0)
      note(
        `${counted(incapable.length, "machine boots", "machines boot")} from a volume but cannot be moved: ${listed(incapable, NAMES)}`,
      );
    if (unusable.length > 0)
      note(
        `${counted(unusable.length, "node")} in manageable or enroll cannot be a spare: ${listed(unusable, NAMES)}`,
      );
    const least = need ?? 0;
    const short = classes.filter(({ candidates }) => candidates.length < least);
    for (const { example, machines, candidates, nearest } of short)
      note(
        `${nodeName(example)}${machines > 1 ? ` and ${machines - 1} like it` : ""}: ${candidates.length} of ${counted(least, "spare")}${nearest === null ? "" : `; the closest is ${nodeName(nearest.spare)}: ${nearest.reason}`}`,
      );
    return short.length > 0;
  });
}
