import type { Wanted } from "../core/settings/wanted.ts";
import { PLACEHOLDER, type SettingRow, type Stranded } from "../model/settings.ts";

/** The settings as nova.conf has them, each with its reason. */
export function settingsText({ settings, release }: Wanted): string {
  const sections = [...new Set(settings.map(({ section }) => section))];
  const parts = sections.map((section) =>
    [
      `[${section}]`,
      ...settings
        .filter((setting) => setting.section === section)
        .flatMap(({ part, key, value, why }) => [
          `# nova-${part}: ${why}`,
          `${key} = ${value ?? PLACEHOLDER}`,
        ]),
      "",
    ].join("\n"),
  );
  return [`# Nova of ${release}, for Ironic; what says ${PLACEHOLDER} is your own.`, ...parts].join(
    "\n",
  );
}

/** The same for programs, with what was found in files. */
export function settingsJson(
  { release, settings, notes }: Wanted,
  looked: {
    readonly rows: readonly SettingRow[];
    readonly patches: readonly string[];
    readonly hosts: string | null;
  } | null,
  stranded: readonly Stranded[] | null,
): string {
  const told = {
    release,
    settings: settings.map(({ part, section, key, value, why }) => ({
      ...{ part, section, key, value: value ?? PLACEHOLDER, why },
    })),
    notes,
    ...(looked !== null && {
      found: looked.rows,
      patches: looked.patches,
      differing_hosts: looked.hosts,
    }),
    ...(stranded !== null && { stranded }),
  };
  return `${JSON.stringify(told)}\n`;
}
