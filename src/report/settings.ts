import type { WantedSettings } from "../core/settings/judge.ts";
import {
  PLACEHOLDER,
  type SettingRow,
  type Stranded,
  type StrandedFlavors,
} from "../model/settings.ts";
import type { View } from "./table.ts";

/** The settings as nova.conf has them, each with its reason. */
export function settingsText({ settings, release }: WantedSettings): string {
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
  { release, settings, notes }: WantedSettings,
  inspected: {
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
    ...(inspected !== null && {
      found: inspected.rows,
      patches: inspected.patches,
      differing_hosts: inspected.hosts,
    }),
    ...(stranded !== null && { stranded }),
  };
  return `${JSON.stringify(told)}\n`;
}

/** A row a setting, as found in files. */
export function settingsView(found: readonly SettingRow[]): View {
  return {
    columns: ["Host", "Section", "Key", "State", "Wanted", "Found", "Where"],
    rows: found.map(({ host, section, key, state, wanted, found, where }) => [
      ...[host, section, key, state, wanted ?? "your own", found, where],
    ]),
  };
}

/** What exact filters would strand, for people; null: flavors were not looked at. */
export function strandedText(stranded: StrandedFlavors | null): readonly string[] {
  if (stranded === null)
    return ["Flavors were not looked at: --run names the machines they are held against."];
  const { flavors, of, from, unseen } = stranded;
  const lines = flavors.map(({ flavor, why }) => `\n  ${flavor} ${why}.`).join("");
  return [
    ...(unseen ? ["Flavors of nova_api were not looked at: give --nova-api-db."] : []),
    `Exact filters would strand ${flavors.length} of ${of} flavors, by the machines of ${from}.${lines}`,
  ];
}
