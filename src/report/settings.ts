import type { WantedSettings } from "../core/settings/judge.ts";
import {
  PLACEHOLDER,
  type Restart,
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
  restarts: readonly Restart[] | null,
): string {
  const shown = {
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
    ...(restarts !== null && { restarts }),
  };
  return `${JSON.stringify(shown)}\n`;
}

/** A row a setting, as found in files, and one a service that is to read them. */
export function settingsView(
  found: readonly SettingRow[],
  restarts: readonly Restart[] = [],
): View {
  const settings = found.map(({ host, section, key, state, wanted, found, where }) => [
    ...[host, section, key, state, wanted ?? "your own", found, where],
  ]);
  const services = restarts.map(({ host, service, state, changed, found, where }) => [
    ...[host, null, service, state, `started since ${changed}`, found, where],
  ]);
  return {
    columns: ["Host", "Section", "Key", "State", "Wanted", "Found", "Where"],
    rows: [...settings, ...services],
    causes: ["State", "Section", "Key", "Wanted"],
  };
}

/** How many services are to be restarted, and of how many nobody can tell. */
export function restartsText(restarts: readonly Restart[]): readonly string[] {
  const named = (which: Restart["state"]): string =>
    restarts
      .filter(({ state }) => state === which)
      .map(({ service, host }) => `${service} of ${host}`)
      .join(", ");
  const [old, unknown] = [named("not restarted"), named("unknown")];
  return [
    ...(old === "" ? [] : [`Restart ${old}.`]),
    ...(unknown === ""
      ? []
      : [`Not known to have restarted: ${unknown}. Give --service-log [HOST=]FILE, its log.`]),
    ...(old === "" && unknown === "" && restarts.length > 0
      ? ["All services were restarted since their files changed."]
      : []),
  ];
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
