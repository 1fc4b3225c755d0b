/** `blocks`: not loaded. `warning`: loaded, but to be checked. `note`: for information. */
export type Severity = "blocks" | "warning" | "note";

export interface FindingKind {
  readonly severity: Severity;
  readonly title: string;
  /** Consequence and fix, for `explain` and reports. */
  readonly advice: string;
  /** The site document may accept it, because there is a safe way to load the machine. */
  readonly acceptable?: boolean;
}

export function note(title: string, advice: string): FindingKind {
  return { severity: "note", title, advice };
}

export function warning(title: string, advice: string): FindingKind {
  return { severity: "warning", title, advice };
}

export function blocking(title: string, advice: string): FindingKind {
  return { severity: "blocks", title, advice };
}

export function acceptable(title: string, advice: string): FindingKind {
  return { severity: "blocks", title, advice, acceptable: true };
}
