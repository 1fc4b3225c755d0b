/** A virtual machine as its host tells of it. */
export interface Domain {
  /** Its name there, of printable ASCII and cut; for people. */
  readonly name: string;
  readonly power: "on" | "off" | null;
  /** `running`; for people. */
  readonly state: string;
  /** Bare hex, lower case: as nova-baremetal compares them. */
  readonly macs: readonly string[];
}

const LONGEST_NAME = 64;

/** A text of the other side as a sentence may carry it. */
export function plain(text: string): string {
  const kept = text.slice(0, LONGEST_NAME).replaceAll(/[^\x20-\x7e]/g, "?");
  return text.length > LONGEST_NAME ? `${kept}...` : kept;
}
