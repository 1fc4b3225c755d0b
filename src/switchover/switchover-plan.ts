import { randomUUID } from "node:crypto";
import { MigrationError } from "../lib/error.ts";
import { counted } from "../lib/text.ts";
import type {
  HardwareDifference,
  IdenticalDoc,
  NodeDetail,
  SwitchFault,
} from "../model/switchover.ts";
import {
  nodeInDetail,
  nodesInDetail,
  volumesElsewhere,
} from "../systems/ironic-api/node-detail.ts";
import type { RestService } from "../systems/ironic-api/service.ts";
import { isLocked, movingConnectors, sourceFaults, spareFaults } from "./rules/capable.ts";
import { differences } from "./rules/identical.ts";
import { gatherSpares, likelySpares, nodeName, unlike } from "./rules/spares.ts";
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

/** For a repeated plan. @throws MigrationError N2I-E383 if the source has another instance now */
export function sameInstance(plan: Switchover, was: string): Switchover {
  if (plan.instance_uuid === was) return plan;
  const name = plan.source_name ?? plan.source;
  throw new MigrationError(
    "N2I-E383",
    `node ${name} has instance ${plan.instance_uuid}, but had ${was} when its switchover was accepted`,
  );
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
