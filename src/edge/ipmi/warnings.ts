import type { FindingCode } from "../../model/findings.ts";
import type { ConductorIpmitool, PowerLevel, PowerVerdict } from "../../model/power.ts";

/** What is known of a BMC when its reading is written. */
export interface Known {
  readonly verdict: PowerVerdict;
  readonly suite: number | null;
  readonly suites: readonly number[] | null;
  readonly kg: boolean | null;
  readonly kgGiven: boolean;
  readonly privilege: PowerLevel | null;
  readonly nullUsers: boolean;
  readonly passwordCut: boolean;
  readonly updating: boolean;
  readonly fault: boolean;
  readonly checksumsWrong: boolean;
  /** Whether RAKP 2 fitted only when Open Session named the level. Quirk Q3. */
  readonly openLevel: boolean;
}

/**
 * The suites to ask for, in the order in which the conductor's ipmitool would come to them; the
 * other one of 3 and 17 is asked for only when the first is refused.
 *
 * @source facts/ipmi.md 5.1: up to 1.8.18 it takes 3, later ones 17 where the BMC lists it
 */
export function preferred(
  conductor: ConductorIpmitool,
  listed: readonly number[] | null,
): readonly number[] {
  return conductor === "1.8.19" && listed?.includes(17) === true ? [17, 3] : [3, 17];
}

/** Observations that stand whatever the verdict. @source facts/ipmi.md 6 */
export function warningsFor(known: Known): readonly FindingCode[] {
  const { suites, suite } = known;
  const found: readonly (readonly [FindingCode, boolean])[] = [
    ["N2I-D620", suites?.includes(0) === true],
    ["N2I-D621", suites !== null && suites.length > 0 && !suites.some((id) => id >= 15)],
    ["N2I-D622", known.nullUsers],
    ["N2I-D623", known.kg === true && !known.kgGiven],
    ["N2I-D624", known.updating],
    ["N2I-D625", known.fault],
    ["N2I-D626", known.passwordCut],
    ["N2I-D627", known.checksumsWrong],
    ["N2I-D629", known.openLevel],
    ["N2I-D628", suite !== null && suites === null],
  ];
  return found.flatMap(([code, holds]) => (holds ? [code] : []));
}
