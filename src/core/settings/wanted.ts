import { MigrationError } from "../../model/error.ts";
import type { Setting, SettingsDoc, SettingsPart } from "../../model/settings.ts";

export interface WantedSettings {
  readonly release: string;
  readonly settings: readonly Setting[];
  /** What is to be known besides, and what is not known. */
  readonly notes: readonly string[];
}

interface WantedAsked {
  readonly release: string;
  readonly exactFilters: boolean;
  /** Absent: both. */
  readonly part?: SettingsPart | undefined;
}

/**
 * The settings one release of Nova needs. Where no source speaks of a release, the notes say so.
 *
 * @param releases all that are known, oldest first
 * @throws MigrationError N2I-E100 for exact filters on a release that has none
 * @source facts/systems.md D4
 */
export function wantedSettings(
  doc: SettingsDoc,
  releases: readonly string[],
  { release, exactFilters, part }: WantedAsked,
): WantedSettings {
  const at = releases.indexOf(release);
  const holds = ({ since, until }: { readonly since?: string; readonly until?: string }) =>
    (since === undefined || releases.indexOf(since) <= at) &&
    (until === undefined || at <= releases.indexOf(until));
  const all = doc.settings.filter(holds);
  if (exactFilters && !all.some(({ only }) => only === "exact-filters"))
    throw new MigrationError(
      "N2I-E100",
      `--exact-filters: Nova has no such filters in ${release}; flavors ask for a resource class`,
    );
  const settings = all.filter(
    (setting) =>
      (setting.only === undefined || exactFilters) && (part === undefined || setting.part === part),
  );
  const beyond =
    at > releases.indexOf(doc.seen)
      ? [
          `Not known for ${release}: no source speaks of Nova after ${doc.seen}; what is printed is what ${doc.seen} needs.`,
        ]
      : [];
  return {
    release,
    settings,
    notes: [...beyond, ...doc.notes.filter(holds).map(({ say }) => say)],
  };
}
