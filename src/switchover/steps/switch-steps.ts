import type { SwitchStepName } from "../rules/switching.ts";
import { clearStep, deployStep } from "./switch-deploy.ts";
import {
  allocationStep,
  claimStep,
  fieldsStep,
  holdStep,
  releaseStep,
  unlinkStep,
} from "./switch-fields.ts";
import { novaFreeStep, novaHoldStep, novaRowsStep, placementStep } from "./switch-nova.ts";
import { owned } from "./switch-owner.ts";
import type { SwitchAt, SwitchStep } from "./switch-part.ts";
import { destinationStep, maintenanceStep, sourceOffStep } from "./switch-power.ts";
import { vifsStep, volumesStep } from "./switch-volumes.ts";

const STEPS: { readonly [name in SwitchStepName]: (at: SwitchAt) => SwitchStep } = {
  "switchover-hold": holdStep,
  "switchover-destination": destinationStep,
  "switchover-nova-hold": novaHoldStep,
  "switchover-power": sourceOffStep,
  "switchover-maintenance": maintenanceStep,
  "switchover-unlink": unlinkStep,
  "switchover-volumes": volumesStep,
  "switchover-vifs": vifsStep,
  "switchover-fields": fieldsStep,
  "switchover-nova-rows": novaRowsStep,
  "switchover-claim": claimStep,
  "switchover-deploy": deployStep,
  "switchover-allocation": allocationStep,
  "switchover-placement": placementStep,
  "switchover-nova-free": novaFreeStep,
  "switchover-clear": clearStep,
  "switchover-release": releaseStep,
};

/** Every step of a switchover, in its order; back it is the other way round. */
export function switchSteps(at: SwitchAt): readonly SwitchStep[] {
  return Object.values(STEPS).map((make) => owned(at, make(at)));
}
