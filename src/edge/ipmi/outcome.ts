import type { PowerLevel } from "../../model/power.ts";
import type { Chassis, Device } from "./commands.ts";
import type { Suite } from "./suites.ts";

/** How one login is made. */
export interface Attempt {
  readonly suite: Suite;
  readonly level: PowerLevel;
  /** Whether Open Session names the level, too, rather than 0 for the highest. Quirk Q3. */
  readonly namesLevel: boolean;
}

/** The answer a login waits for. */
export type Stage = "Open Session" | "RAKP 2" | "RAKP 4" | "session";

/** What came of one login and the commands after it. */
export type Outcome =
  | {
      readonly kind: "answered";
      readonly chassis: Chassis;
      readonly device: Device | null;
      /** Whether a message had wrong checksums. */
      readonly checksumsWrong: boolean;
    }
  | { readonly kind: "silent"; readonly stage: Stage }
  | { readonly kind: "status"; readonly stage: Stage; readonly status: number }
  | { readonly kind: "mismatch"; readonly of: "password" | "kg" }
  /** The level is not to be had, as a command says. */
  | { readonly kind: "level"; readonly code: number }
  | { readonly kind: "busy"; readonly code: number }
  | { readonly kind: "code"; readonly command: string; readonly code: number }
  | { readonly kind: "odd"; readonly words: string };

/** A login that brought no power state. */
export type Failure = Exclude<Outcome, { kind: "answered" }>;

/** The number of a level in commands. */
export const LEVELS = { OPERATOR: 3, ADMINISTRATOR: 4 } as const;
