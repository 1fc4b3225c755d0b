import { resolve } from "node:path";
import { MigrationError } from "../../lib/error.ts";
import { OSLO_FILE_LIMIT, osloConfig } from "../../lib/files/oslo.ts";
import { readSmallFile } from "../../lib/files/text-file.ts";
import { show } from "../../lib/text.ts";
import { novaPlanOf } from "../../migrate/hosts/nova-files.ts";
import { choiceOf } from "../../migrate/hosts/rules/choice.ts";
import { loadSettings } from "../../migrate/open/documents.ts";
import { isLoaded, nodeOf } from "../../model/plan.ts";
import {
  PLACEHOLDER,
  type Setting,
  type SettingRow,
  type SettingsPart,
} from "../../model/settings.ts";
import { releaseNames } from "../../run/files/load-tables.ts";
import { openRun, type RunFolder } from "../../run/files/run-folder.ts";
import { processContext } from "../../run/process-context.ts";
import { planOrNull } from "../../run/run.ts";
import { filesByHost } from "../../systems/database/nova-conf.ts";
import {
  type DesiredSettings,
  desiredSettings,
  differingHosts,
  judgeSettings,
  type PlannedHost,
} from "./judge.ts";
import { type Edit, settingsPatch } from "./patch.ts";

export interface ConfigOptions {
  readonly run?: string;
  readonly ironicRelease?: string;
  readonly novaConf?: readonly string[];
  readonly ironicConf?: readonly string[];
  readonly part?: SettingsPart;
  readonly exactFilters: boolean;
  readonly check: boolean;
}

/**
 * Nova's settings for Ironic, and with `ironicConf` those of conductors, compared with files.
 * @throws MigrationError N2I-E100 if the release is missing, N2I-E108 if it is unknown, N2I-E326 if
 * there is nothing to check
 */
export async function config(options: ConfigOptions) {
  const { run, novaConf, ironicConf, exactFilters, part } = options;
  const release = await releaseOf(options);
  const requests: (readonly [SettingsPart | undefined, FilesOfHosts | null])[] = [];
  if (novaConf !== undefined) requests.push([part, filesByHost(novaConf)]);
  if (ironicConf !== undefined)
    requests.push(["conductor", new Map(ironicConf.map((path) => [path, [path]]))]);
  if (requests.length === 0) requests.push([part, null]);
  const doc = await loadSettings();
  const hosts =
    run === undefined || novaConf === undefined
      ? []
      : await plannedHosts(await openRun(run, { create: false }));
  const all: DesiredSettings[] = [];
  const read: Awaited<ReturnType<typeof readConfs>>[] = [];
  for (const [part, files] of requests) {
    const desired = desiredSettings(doc, releaseNames(), { release, exactFilters, part });
    all.push(desired);
    if (files !== null) read.push(await readConfs(files, desired.settings, hosts));
  }
  const rows = read.flatMap((one) => one.rows);
  if (options.check && rows.length === 0)
    throw new MigrationError("N2I-E326", "this release needs no setting in these files");
  const inspected = {
    ...{ rows, patches: read.flatMap((one) => one.patches) },
    hosts: read.find((one) => one.hosts !== null)?.hosts ?? null,
  };
  const desired: DesiredSettings = {
    ...{ release, settings: all.flatMap(({ settings }) => settings) },
    notes: all.flatMap(({ notes }) => notes),
  };
  return { desired, inspected: read.length === 0 ? null : inspected };
}

type FilesOfHosts = ReadonlyMap<string, readonly string[]>;

async function releaseOf({ run, ironicRelease }: ConfigOptions): Promise<string> {
  if (ironicRelease !== undefined) return ironicRelease;
  const plan = run === undefined ? null : await planOrNull(run);
  const { connections, saved, cwd } = processContext();
  const configured =
    plan?.header.target.release ??
    connections.get("ironic-release") ??
    saved.get(resolve(cwd(), run ?? ""))?.get("ironic-release");
  if (configured === undefined)
    throw new MigrationError("N2I-E100", "the release of Ironic is missing", {
      fix: "Add --ironic-release, or --run with a run that has a plan.",
    });
  const name = String(configured);
  if (releaseNames().includes(name)) return name;
  throw new MigrationError("N2I-E108", `ironic_release: ${show(name)} is not a known release`);
}

/**
 * @param byHost files of each host
 * @param planned hosts that instances will name according to the plan. Empty: unknown
 * @returns unified diffs, one per file to change, and the fault of `[DEFAULT] host`, or null
 * @throws MigrationError N2I-E100, N2I-E104
 */
async function readConfs(
  byHost: FilesOfHosts,
  settings: readonly Setting[],
  planned: readonly PlannedHost[],
) {
  const rows: SettingRow[] = [];
  const hosts: { host: string; set: string | null }[] = [];
  const edits = new Map<string, { readonly text: string; readonly edits: Edit[] }>();
  for (const [hostPattern, paths] of byHost) {
    const files: { name: string; bytes: Buffer }[] = [];
    for (const name of paths) {
      const bytes = await readSmallFile(name, OSLO_FILE_LIMIT, "N2I-E104");
      files.push({ name, bytes });
      if (!edits.has(name)) edits.set(name, { text: bytes.toString("utf8"), edits: [] });
    }
    const config = osloConfig(files);
    const host = hostPattern === "*" ? (paths.at(-1) ?? hostPattern) : hostPattern;
    const set = config.get("DEFAULT", "host") || null;
    hosts.push({ host, set });
    const found = judgeSettings(host, config, settings);
    rows.push(...found);
    for (const { section, key, wanted: desired, state } of found) {
      if (state === "right") continue;
      // Later files override earlier ones, so the file with the effective value changes.
      const at = config.where(section, key)?.replace(/:\d+$/, "") ?? paths.at(-1) ?? "";
      const fileEdits = edits.get(at)?.edits;
      if (fileEdits?.every((edit) => edit.section !== section || edit.key !== key))
        fileEdits.push({ section, key, value: desired ?? PLACEHOLDER });
    }
  }
  const patches = [...edits].map(([name, file]) => settingsPatch(name, file.text, file.edits));
  return {
    rows,
    patches: patches.filter((patch) => patch !== ""),
    hosts: differingHosts(settings, hosts, planned),
  };
}

/** Compute hosts of instances after apply. Empty without a plan. */
async function plannedHosts(run: RunFolder): Promise<readonly PlannedHost[]> {
  const plan = await planOrNull(run.path);
  if (plan === null) return [];
  const nova = await novaPlanOf(run, plan.footer);
  const choice = choiceOf(nova?.header.compute_hosts ?? []);
  const [used, free, assigned] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for await (const batch of plan.lines())
    for (const line of batch) {
      const { service_host } = line;
      if (service_host !== null) assigned.add(service_host);
      const node = nodeOf(line.records);
      const host = choice.of(line) ?? service_host;
      if (!isLoaded(line) || host === null) continue;
      (typeof node?.instance_uuid === "string" ? used : free).add(host);
    }
  const names = [...(used.size > 0 ? used : free)].toSorted();
  return names.map((name) => ({ name, inUse: assigned.has(name) }));
}
