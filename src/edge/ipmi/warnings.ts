import type { FindingCode } from "../../model/findings.ts";
import type { PowerLevel, PowerVerdict } from "../../model/power.ts";

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
