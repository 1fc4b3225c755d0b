import { viewer } from "../../lib/table/table.ts";
import { PLACEHOLDER, type SettingRow } from "../../model/settings.ts";
import type { DesiredSettings } from "../../window/config/config.ts";

export function settingsText({ settings, release }: DesiredSettings): string {
  const parts = [...new Set(settings.map(({ section }) => section))].map((section) =>
    [
      `[${section}]`,
      ...settings
        .filter((setting) => setting.section === section)
        .flatMap(({ part, key, value, why: reason }) => [
          `# nova-${part}: ${reason}`,
          `${key} = ${value ?? PLACEHOLDER}`,
        ]),
      "",
    ].join("\n"),
  );
  return [`# Nova of ${release}, for Ironic. Replace each ${PLACEHOLDER}.`, ...parts].join("\n");
}

export function settingsJson(
  { release, settings, notes }: DesiredSettings,
  inspected: {
    readonly rows: readonly SettingRow[];
    readonly patches: readonly string[];
    readonly hosts: string | null;
  } | null,
): string {
  const document = {
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
  };
  return `${JSON.stringify(document)}\n`;
}

const DESIRED = "Wanted";

export const settingsView = viewer<SettingRow>(
  {
    ...{ Host: "host", Section: "section", Key: "key", State: "state" },
    ...{ [DESIRED]: desiredText, Found: foundOf, Where: "where" },
  },
  { causes: ["State", "Section", "Key", DESIRED] },
);

/** `at least 40`, `at most 10`. */
function desiredText({ wanted: desired, bound }: Pick<SettingRow, "wanted" | "bound">): string {
  const value = desired ?? "your own";
  return bound === undefined ? value : `${bound.replace("-", " ")} ${value}`;
}

function foundOf({ found, default: usual }: Pick<SettingRow, "found" | "default">): string | null {
  return found === null && usual !== undefined ? `${usual} (default)` : found;
}
