/** `blocks`: the machine is not loaded. `warning`: loaded, look at it. `note`: for the record. */
export type Severity = "blocks" | "warning" | "note";

export interface FindingKind {
  readonly severity: Severity;
  readonly title: string;
  /** What goes wrong when nobody looks, and what to do: for `explain` and reports. */
  readonly advice: string;
  /** A blocking finding the site document can accept: there is a safe way to load the machine. */
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

/** A blocking one that may be accepted. */
export function acceptable(title: string, advice: string): FindingKind {
  return { severity: "blocks", title, advice, acceptable: true };
}
