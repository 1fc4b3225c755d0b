import type { Edit } from "../core/settings/edit.ts";
import { differingHosts, judgeSettings, type PlannedHost } from "../core/settings/judge.ts";
import { settingsPatch } from "../core/settings/patch.ts";
import { filesByHost } from "../edge/config/nova-conf.ts";
import { OSLO_FILE_LIMIT, osloConfig } from "../edge/config/oslo.ts";
import { readSmallFile } from "../edge/config/text-file.ts";
import { PLACEHOLDER, type Setting, type SettingRow } from "../model/settings.ts";

/** What nova.conf files say of the settings that are needed, and what would fix them. */
export interface LookedAt {
  readonly rows: readonly SettingRow[];
  /** Unified diffs, one a file that must change. */
  readonly patches: readonly string[];
  /** What is wrong with `[DEFAULT] host`; null: nothing. */
  readonly hosts: string | null;
}

/**
 * @param specs `[HOST=]FILE`
 * @param planned hosts that instances will name by the run's plan; empty: not known
 * @throws MigrationError N2I-E100, N2I-E104
 */
export async function lookAtConfs(
  specs: readonly string[],
  settings: readonly Setting[],
  planned: readonly PlannedHost[],
): Promise<LookedAt> {
  const rows: SettingRow[] = [];
  const hosts: { host: string; set: string | null }[] = [];
  const edits = new Map<string, { readonly text: string; readonly edits: Edit[] }>();
  for (const [named, paths] of filesByHost(specs)) {
    const files: { name: string; bytes: Buffer }[] = [];
    for (const name of paths)
      files.push({ name, bytes: await readSmallFile(name, OSLO_FILE_LIMIT, "N2I-E104") });
    for (const { name, bytes } of files)
      if (!edits.has(name)) edits.set(name, { text: bytes.toString("utf8"), edits: [] });
    const config = osloConfig(files);
    const host = named === "*" ? (paths.at(-1) ?? named) : named;
    hosts.push({ host, set: config.get("DEFAULT", "host") || null });
    const found = judgeSettings(host, config, settings);
    rows.push(...found);
    for (const { section, key, wanted, state } of found) {
      if (state === "right") continue;
      // What stands in a later file overrides: the change goes where the value in force is.
      const at = config.where(section, key)?.replace(/:\d+$/, "") ?? paths.at(-1) ?? "";
      const own = edits.get(at)?.edits;
      if (own?.every((edit) => edit.section !== section || edit.key !== key))
        own.push({ section, key, value: wanted ?? PLACEHOLDER });
    }
  }
  const patches = [...edits].map(([name, file]) => settingsPatch(name, file.text, file.edits));
  return {
    rows,
    patches: patches.filter((patch) => patch !== ""),
    hosts: differingHosts(settings, hosts, planned),
  };
}
