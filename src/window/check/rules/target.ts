import { counted, createSeveral, duration } from "../../../lib/text.ts";
import { onceLoaded, slowDelete } from "../../../migrate/plan/rules/delete-cost.ts";
import type { CheckResult, CheckView } from "../../../model/check.ts";
import { type TakeOverPace, USUAL_PACE, WINDOW_PACE } from "../../../model/handover.ts";
import { forecast } from "../../handover/rules/forecast.ts";
import {
  type Check,
  countOf,
  fine,
  isRefused,
  needing,
  planned,
  resultOf,
  textsOf,
  unseen,
  warning,
} from "./look.ts";

/**
 * Nodes belong to the run by its journal. The mark may be from another run, or written by another
 * user.
 * @source facts/systems.md D R25, D-19
 */
const owned = needing(["ironic"], ({ ironic, loadedNodes, plan }) => {
  if (ironic.nodes.length === 0) return fine("Ironic is empty.");
  const foreign = textsOf(ironic.nodes, ({ uuid, marked }) =>
    loadedNodes.has(uuid) ? null : `${uuid}${marked ? " with our mark" : ""}`,
  );
  return foreign.length === 0
    ? fine(`${counted(ironic.nodes.length, "node")}, all loaded by this run.`)
    : resultOf(
        foreign,
        "nodes that this run did not load",
        "find the owner of each node. If a node has our mark, roll back the run that loaded it. To load anyway, use plan --allow-other-nodes",
        plan?.allowOtherNodes === true ? "Warning" : "Failure",
      );
});

/** Before the load, the plan's ports are included in the count. */
const goingBack = needing(["ironic"], ({ ironic, plan }) => {
  const nodes = plan ? countOf(plan.machines, ({ blocked }) => !blocked) : ironic.nodes.length;
  const keys = onceLoaded(ironic.keys, plan?.ports ?? 0);
  const slow = slowDelete(nodes, keys);
  if (slow !== null) return warning(slow.what, slow.fix);
  return fine("A rollback will not be slow.");
});

/** A hand-over of this many seconds justifies two settings in ironic.conf. */
const LONG = 30 * 60;

/** The hand-over time with the conductors' ironic.conf, and with the recommended settings. */
function handOver({ bm, plan, pace }: CheckView): CheckResult {
  if (plan === null && isRefused(bm)) return unseen("--nova-bm-db");
  const machines =
    plan?.takeOvers ??
    (isRefused(bm) ? 0 : countOf(bm.nodes, ({ instance_uuid }) => instance_uuid));
  const usual = pace ?? USUAL_PACE;
  const durationText = (by: TakeOverPace): string => {
    const { seconds, source } = forecast(machines, by);
    return seconds === null ? source : `${duration(seconds)}, ${source}`;
  };
  const { seconds } = forecast(machines, usual);
  const long = seconds === null || seconds > LONG;
  const tuned = durationText({ ...WINDOW_PACE, conductors: usual.conductors });
  const text = `Takeover of ${counted(machines, "machine")} in use: ${durationText(usual)}`;
  const message = `${text}${pace === null || long ? `; with the settings for the window: ${tuned}` : ""}.`;
  return long
    ? warning(
        message,
        "run nova2ironic config --ironic-conf FILE for each conductor, apply the patch and restart ironic-conductor",
      )
    : fine(message);
}

/** The finding of a machine that this Ironic cannot boot. */
const NETBOOT = "N2I-D403";

/** Ironic 21 boots from disk only, but nova-baremetal did not. @source facts/systems.md D-20 */
const netboot = needing(["ironic"], ({ bm, ironic, plan }) => {
  if (!ironic.local) return fine(`Ironic of ${ironic.release} boots from the network.`);
  if (isRefused(bm)) return unseen("--nova-bm-db");
  const lines = planned(plan);
  const [open, accepted] = [createSeveral(), createSeveral()];
  for (const { id, uuid, instance_uuid } of bm.nodes) {
    if (!instance_uuid || plan?.skipped.has(id)) continue;
    const taken = lines({ id, uuid })?.findings.get(NETBOOT);
    if (plan !== null && taken === undefined) continue;
    (taken === true ? accepted : open).add(`bm_nodes.id=${id} ${uuid}`);
  }
  return resultOf(
    open.length > 0 ? open : accepted,
    open.length > 0
      ? "machines that boot from the network, which this Ironic does not support"
      : "machines that this Ironic cannot boot, as you accepted",
    `run nova2ironic explain ${NETBOOT}. Set deploy_interface: ramdisk in the site document, or install a bootloader`,
    open.length > 0 ? "Failure" : "Warning",
  );
});

/** Conductors manage new rows at once. @source facts/ironic.md 1.5 */
const conductors = needing(["ironic"], ({ ironic }) => {
  const alive = ironic.conductors.filter((conductor) => conductor.alive);
  const allStaged = ironic.nodes.length > 0 && ironic.nodes.every(({ staged }) => staged);
  if (alive.length > 0 && allStaged) return fine(`${alive.length} run, and every node is staged.`);
  return resultOf(
    alive.map(({ hostname }) => hostname),
    "running conductors, which would take over loaded machines",
    ironic.stages
      ? "systemctl stop ironic-conductor, or load with: nova2ironic apply --staged"
      : "systemctl stop ironic-conductor",
    ironic.stages ? "Warning" : "Failure",
  );
});

/**
 * In maintenance, Ironic reads no BMC, and Nova powers off an instance because of the recorded
 * state.
 * @source facts/rehearsal.md 3, variant C
 */
const power = needing(["ironic"], ({ ironic }) => {
  return resultOf(
    textsOf(ironic.nodes, ({ uuid, maintenance, instance_uuid, power_state }) => {
      if (!maintenance || instance_uuid === null || power_state === null) return null;
      return power_state === "power on" ? null : `${uuid} ${power_state}`;
    }),
    "machines in use and in maintenance with a recorded power state that Nova acts on",
    "UPDATE nodes SET power_state=NULL WHERE uuid='NODE' AND maintenance, before nova-compute starts",
  );
});

export const TARGET: readonly Check[] = [
  { title: "Boot from the network", inspect: netboot },
  { title: "Target empty or ours", inspect: owned },
  { title: "Conductors stopped or staged", inspect: conductors },
  { title: "Power state in maintenance", inspect: power },
  { title: "Time of the hand-over", inspect: handOver },
  { title: "Time of a rollback", inspect: goingBack },
];
