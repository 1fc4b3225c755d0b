import type { Handover, HandoverState, Judged, Trouble } from "../../../model/handover.ts";
import type { Row } from "../../../model/machine.ts";
import type { TargetDoc } from "../../../model/mapping.ts";
import { judge, type PlannedNode } from "./judge.ts";
import { nobody } from "./successors.ts";

type ByState = { [state in HandoverState]: number };

export type HandoverTally = Readonly<ByState> & {
  /** Of those that are handed over: no conductor has read their power since. */
  readonly powerUnknown: number;
};

/** HandoverTally an operator has nothing to do about. */
const FINE: ReadonlySet<HandoverState> = new Set(["done", "held"]);

/** The fields each of some machines lacks for its take-over, by uuid. */
export type Lacks = (
  batch: readonly PlannedNode[],
) => Promise<ReadonlyMap<string, readonly string[]>>;

/**
 * Where each machine of a plan stands on its way to a conductor, looked at once. One that was taken
 * over and lacks what the next take-over needs has failed; of one that waits it says why it will wait.
 *
 * @param all give those that are handed over with nothing to say, or held by the plan, too
 * @param tally counts every machine
 */
export async function* observe(
  plan: AsyncIterable<readonly PlannedNode[]>,
  handover: Pick<Handover, "observe" | "service">,
  tally: ReturnType<typeof noStates>,
  all: boolean,
  lacks: Lacks = () => Promise.resolve(new Map()),
): AsyncGenerator<Trouble> {
  const service = await handover.service();
  for await (const batch of plan) {
    const seen = await handover.observe(batch.map(({ uuid }) => uuid));
    const lacking = await lacks(batch);
    for (const { uuid, bm_node_id, row } of batch) {
      const observed = seen.get(uuid);
      const stands = judge(row, observed, nobody(service, row));
      const judged = judgeFields(stands, lacking.get(uuid) ?? []);
      tally[judged.state] += 1;
      if (judged.state === "done" && observed?.power_state == null) tally.powerUnknown += 1;
      if (all || judged.why !== null || !FINE.has(judged.state))
        yield { ...judged, uuid, bm_node_id };
    }
  }
}

/** Adds what a machine lacks to where it stands. */
function judgeFields(judged: Judged, fields: readonly string[]): Judged {
  if (fields.length === 0 || judged.state === "missing" || judged.state === "held") return judged;
  const why = `lacks ${fields.join(", ")}${judged.why === null ? "" : `; ${judged.why}`}`;
  return {
    state: judged.state === "done" ? "failed" : judged.state,
    why,
    fix: "Find it out (site document, extract --tftp-root), roll the machine back, plan and apply again.",
  };
}

export function noStates(): ByState & { powerUnknown: number } {
  return { staged: 0, waiting: 0, done: 0, held: 0, failed: 0, missing: 0, powerUnknown: 0 };
}

export function isHandedOver({ staged, waiting, failed, missing }: HandoverTally): boolean {
  return staged + waiting + failed + missing === 0;
}

export function observedOf({
  staged,
  waiting,
  done,
  held,
  failed,
  missing,
}: HandoverTally): number {
  return staged + waiting + done + held + failed + missing;
}

/** Fields of the columns a take-over reads that hold something: `instance_info.image_source`. */
type FilledFields = ReadonlySet<string>;

const ROOT = "driver_internal_info.root_uuid_or_disk_id";
/** Of a machine that boots from its own disk. */
const LOCAL = "capabilities.boot_option=local";

/**
 * Fields that the take-over of a machine in use reads, or its boot file afterwards, and that are not
 * there. Without them a conductor fails without a word, or leaves the machine in deploy mode.
 *
 * @param root what the plan knows of the tenant's root filesystem: Juno has no field for it
 * @source facts/ironic.md 2.3, 2.5; facts/systems.md D4, D-11
 */
export function lacking(
  { takeover, boot, keys, release }: TargetDoc,
  planned: Row,
  root: string | null,
  held: FilledFields,
): readonly string[] {
  if (planned.provision_state !== "active" || planned.maintenance === true) return [];
  const image = takeover === "none" ? [] : ["instance_info.image_source"];
  const deploys = (["deploy_kernel", "deploy_ramdisk"] as const).map(
    (key) => `driver_info.${keys[key] ?? key}`,
  );
  const images = takeover === "deploy-images" ? ["instance_info.root_gb", ...deploys] : [];
  const boots = boot === "edit" || boot === "netboot" ? [ROOT] : [];
  const ramdisk =
    boot === "local" && planned.deploy_interface === "ramdisk"
      ? ["instance_info.kernel", "instance_info.ramdisk", "instance_info.kernel_append_params"]
      : [];
  const needed = [...image, ...images, ...(held.has(LOCAL) ? [] : boots), ...ramdisk];
  const unknown = boot === "deploy" && root === null ? [`root_uuid (${release} keeps none)`] : [];
  return [...needed.filter((field) => !held.has(field)), ...unknown];
}
