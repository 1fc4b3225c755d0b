import type { Handover, HandoverState, Judged, Trouble } from "../../../model/handover.ts";
import type { Row } from "../../../model/machine.ts";
import type { TargetDoc } from "../../../model/mapping.ts";
import { judge, type PlannedNode } from "./judge.ts";
import { reasonNoConductor } from "./successors.ts";

/** `powerUnknown`: handed over, but no conductor has read their power since. */
export type HandoverTally = { [state in HandoverState | "powerUnknown"]: number };

/** Missing fields for a takeover, by node UUID. */
export type MissingFields = (
  batch: readonly PlannedNode[],
) => Promise<ReadonlyMap<string, readonly string[]>>;

/**
 * The current state of each machine's hand-over. A machine that was taken over but lacks fields for
 * the next takeover has failed.
 * @param all also return handed-over machines without a message, and those in planned maintenance
 * @param tally counts every machine
 */
export async function* observe(
  plan: AsyncIterable<readonly PlannedNode[]>,
  handover: Pick<Handover, "observe" | "service">,
  tally: HandoverTally,
  all: boolean,
  missingFields: MissingFields,
): AsyncGenerator<Trouble> {
  const service = await handover.service();
  for await (const batch of plan) {
    const nodes = await handover.observe(batch.map(({ uuid }) => uuid));
    const missing = await missingFields(batch);
    for (const { uuid, bm_node_id, row } of batch) {
      const observed = nodes.get(uuid);
      const initial = judge(row, observed, reasonNoConductor(service, row));
      const judged = judgeFields(initial, missing.get(uuid) ?? []);
      tally[judged.state] += 1;
      if (judged.state === "done" && observed?.power_state == null) tally.powerUnknown += 1;
      const isFine = judged.state === "done" || judged.state === "held";
      if (all || judged.reason !== null || !isFine) yield { ...judged, uuid, bm_node_id };
    }
  }
}

function judgeFields(judged: Judged, fields: readonly string[]): Judged {
  if (fields.length === 0 || judged.state === "missing" || judged.state === "held") return judged;
  const reason = `lacks ${fields.join(", ")}${judged.reason === null ? "" : `; ${judged.reason}`}`;
  return {
    state: judged.state === "done" ? "failed" : judged.state,
    reason,
    fix: "Provide the value (site document, extract --tftp-root), roll the machine back, then run plan and apply again.",
  };
}

export function noStates(): HandoverTally {
  return { staged: 0, waiting: 0, done: 0, held: 0, failed: 0, missing: 0, powerUnknown: 0 };
}

export function isHandedOver({ staged, waiting, failed, missing }: HandoverTally): boolean {
  return staged + waiting + failed + missing === 0;
}

export function observedOf({ powerUnknown: _, ...states }: HandoverTally): number {
  return Object.values(states).reduce((sum, count) => sum + count, 0);
}

const ROOT = "driver_internal_info.root_uuid_or_disk_id";
/** For a machine with local boot. */
const LOCAL = "capabilities.boot_option=local";

/**
 * Missing fields that a takeover or its boot file needs. Without them, a conductor fails silently
 * or leaves the machine in deploy mode.
 * @param root the root filesystem in the plan, because Juno has no field for it
 * @param filled non-empty fields of the columns that a takeover reads: `instance_info.image_source`
 * @source facts/ironic.md 2.3, 2.5; facts/systems.md D4, D-11
 */
export function missingKeys(
  { takeover, boot, keys, release }: TargetDoc,
  planned: Row,
  root: string | null,
  filled: ReadonlySet<string>,
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
  const needed = [...image, ...images, ...(filled.has(LOCAL) ? [] : boots), ...ramdisk];
  const unknown = boot === "deploy" && root === null ? [`root_uuid (${release} keeps none)`] : [];
  return [...needed.filter((field) => !filled.has(field)), ...unknown];
}
