import type { Ways } from "../core/transform/power-way.ts";
import type { Schedule } from "../edge/ipmi/index.ts";
import type { PowerHeader } from "../model/artefact.ts";
import type { ConductorIpmitool, PowerProbe, PowerReading } from "../model/power.ts";
import type { Seal } from "../model/secret.ts";

/** Which machines are asked: all that have no reading yet, the ones that failed, or those named. */
export interface Selection {
  /** Verdicts of their last readings, or `failed` for all that are not ok. */
  readonly only: readonly string[] | null;
  readonly nodes: readonly string[];
  /** service_host of their nova-computes. */
  readonly hosts: readonly string[];
}

export interface Asking {
  readonly probe: PowerProbe;
  readonly schedule: Partial<Schedule>;
  readonly signal: AbortSignal;
  readonly seal: Seal;
  /** How each machine is asked. */
  readonly ways: Ways;
  /** Whom the answers are for: it stands in the header, and later runs go on with it. */
  readonly for: PowerHeader["asked_for"];
  readonly ipmitool: ConductorIpmitool;
  readonly each: (reading: PowerReading) => void;
  /** A failure that will be looked at again before it counts. */
  readonly again: (reading: PowerReading) => void;
  /** Machines this selection is about, and those of them that an earlier run had readings of. */
  readonly expect: (machines: number, before: readonly PowerReading[]) => void;
}
