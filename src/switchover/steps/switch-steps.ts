import { type JsonObject, objectOf } from "../../lib/json.ts";
import { inOrder } from "../../lib/streams.ts";
import type { NovaStep } from "../../model/nova/nova-plan.ts";
import { serverSteps } from "../rules/server.ts";
import { STEP_NAMES, type SwitchStepName } from "../rules/switching.ts";
import {
  allocationStep,
  claimStep,
  fieldsStep,
  markStep,
  releaseStep,
  unlinkStep,
} from "./switch-fields.ts";
import {
  areVolumesOf,
  isBusy,
  isFenced,
  offGuard,
  otherInstance,
  owned,
  unkept,
} from "./switch-guard.ts";
import {
  blocked,
  field,
  type JournalStep,
  next,
  patchOf,
  REACHED,
  type SwitchAt,
  type SwitchNova,
  type SwitchPosition,
  type SwitchStep,
  WAITS,
} from "./switch-part.ts";
import { destinationStep, maintenanceStep, sourceOffStep } from "./switch-power.ts";
import { vifsStep, volumesStep } from "./switch-volumes.ts";

const STEPS: { readonly [name in SwitchStepName]: (at: SwitchAt) => SwitchStep } = {
  "switchover-hold": markStep,
  "switchover-destination": destinationStep,
  "switchover-nova-hold": (at) => serverStep(at, "hold"),
  "switchover-power": sourceOffStep,
  "switchover-maintenance": maintenanceStep,
  "switchover-unlink": unlinkStep,
  "switchover-volumes": volumesStep,
  "switchover-vifs": vifsStep,
  "switchover-fields": fieldsStep,
  "switchover-nova-rows": (at) => serverStep(at, "rows"),
  "switchover-claim": claimStep,
  "switchover-deploy": deployStep,
  "switchover-allocation": allocationStep,
  "switchover-placement": placementStep,
  "switchover-nova-free": (at) => serverStep(at, "free"),
  "switchover-clear": clearStep,
  "switchover-release": releaseStep,
};

export function switchSteps(at: SwitchAt): readonly JournalStep[] {
  return STEP_NAMES.map((name) => owned(at, { name, ...STEPS[name](at) }));
}

/** Without an image, Ironic writes boot files and powers the node on, but does not write a disk. */
function deployStep(at: SwitchAt): SwitchStep {
  const { calls, plan } = at;
  const id = plan.destination;
  const tried = new Set<string>();
  const guard = offGuard(at);
  return {
    async inspect(image) {
      const node = await calls.read(id);
      const { provision_state, power_state, instance_uuid, last_error, instance_info } = node;
      const state = String(provision_state);
      const record = image ?? { provision_state: state };
      if (isBusy(node)) return WAITS;
      if (instance_uuid !== plan.instance_uuid)
        return blocked(
          `node ${id} has instance ${String(instance_uuid ?? "none")}, expected ${plan.instance_uuid}`,
        );
      if (state === "active" && power_state === "power on") return REACHED;
      if (objectOf(instance_info).image_source !== undefined)
        return blocked(`node ${id} has an image_source: Ironic would write that image`);
      const call = CALLS[state];
      if (call === undefined || tried.has(call))
        return blocked(`node ${id} is ${state}, ${String(power_state)}: ${String(last_error)}`);
      if (call === "provide" && node.automated_clean !== false)
        return blocked(`node ${id} would be cleaned: its automated_clean is not false`);
      const [source, areTheirs] = await inOrder([
        calls.read(plan.source),
        areVolumesOf(at, "destination"),
      ]);
      if (!areTheirs) return blocked(`not all of its volumes belong to node ${id}`);
      // From `active` on, the machine is on.
      const stopped = call === "provide" ? null : guard.inspect(record, source);
      if (stopped !== null) return stopped;
      const write =
        call === "power on"
          ? calls.power(id, { target: call })
          : calls.provision(id, call, [state]);
      return next([write], record, () => {
        tried.add(call);
        guard.again();
      });
    },
  };
}

const CALLS: { readonly [state: string]: "provide" | "active" | "power on" | undefined } = {
  manageable: "provide",
  available: "active",
  "deploy failed": "active",
  active: "power on",
};

/**
 * The boot file has the volume's secret, so a power on would mount the volume a second time.
 *
 * @source facts/systems-measured.md B2+
 */
function clearStep(at: SwitchAt): SwitchStep {
  const { calls, plan } = at;
  const id = plan.source;
  const sent = new Set<string>();
  return {
    async inspect(image) {
      const node = await calls.read(id);
      const { provision_state, automated_clean = null, last_error } = node;
      const state = String(provision_state);
      if (isBusy(node)) return WAITS;
      if (state === "available") return REACHED;
      const record: JsonObject = image ?? { provision_state: state, automated_clean };
      // With an unreachable BMC, the tear-down fails after it has deleted the files.
      const isOver = state === "error" && (sent.has("deleted") || image !== null);
      if (isOver && isFenced(at)) return REACHED;
      const reason = unkept(at, node) ?? otherInstance(at, node);
      if (reason !== null) return blocked(reason);
      if (sent.has("deleted")) return blocked(`node ${id} is ${state}: ${String(last_error)}`);
      // The instance's data cannot be compared later.
      const [faults, uuids] = await inOrder([
        calls.invalid(plan.destination),
        calls.volumesOf("targets", id),
      ]);
      if (faults.length > 0)
        return blocked(`node ${plan.destination} does not validate: ${faults.join("; ")}`);
      if (uuids.length > 0) return blocked(`node ${id} has volume targets: ${uuids.join(", ")}`);
      if (automated_clean !== false)
        return next(
          [patchOf(at, "source", [field("source", ["automated_clean"], automated_clean, false)])],
          record,
        );
      const write = calls.provision(id, "deleted", [state]);
      return next([write], record, () => sent.add("deleted"));
    },
  };
}

const reached = () => Promise.resolve(REACHED);

/** `hold` stops Nova and tenants from acting on the server. */
function serverStep(at: SwitchAt, step: keyof ReturnType<typeof serverSteps>): SwitchStep {
  const { server } = at.plan;
  if (server === null) return { inspect: reached, inspectBack: reached };
  const { forth, back } = serverSteps(server)[step];
  return {
    inspect: () => rowPosition(at, [forth]),
    ...(back !== null && { inspectBack: () => rowPosition(at, back) }),
  };
}

/** @param changes the first step that matches the row is performed */
async function rowPosition(at: SwitchAt, changes: readonly NovaStep[]): Promise<SwitchPosition> {
  const nova = novaOf(at);
  const whys: string[] = [];
  for (const change of changes) {
    const { is, reason } = await nova.inspect(change);
    if (is === "after") return REACHED;
    if (is === "before") {
      const what = `the change of ${change.of} in Nova's database`;
      const write = { what, on: [at.plan.source], make: () => nova.change(change) };
      return next([write], { ...change.before });
    }
    whys.push(`${change.of} ${reason}`);
  }
  return blocked(...whys.slice(0, 1));
}

/** Nova does not offer the destination, because it is in use. */
function placementStep(at: SwitchAt): SwitchStep {
  const { server, source, destination } = at.plan;
  return {
    async inspect() {
      if (server?.placement !== true) return REACHED;
      const { placement } = novaOf(at);
      if (placement === null) throw new Error("Placement is not open");
      const state = await placement.stateOf(server.uuid, source, destination);
      if (state === "made") return REACHED;
      if (state !== "open") return blocked(state.reason);
      const make = () => placement.move(server.uuid, source, destination);
      const what = `the move of the allocations of ${server.uuid}`;
      return next([{ what, on: [source, destination], make }], {
        ...{ consumer: server.uuid, from: source, to: destination },
      });
    },
  };
}

function novaOf({ nova }: SwitchAt): SwitchNova {
  if (nova === null) throw new Error("Nova's database is not open");
  return nova;
}
