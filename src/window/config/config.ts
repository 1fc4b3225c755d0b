import { resolve } from "node:path";
import { MigrationError } from "../../lib/error.ts";
import { OSLO_FILE_LIMIT, osloConfig } from "../../lib/files/oslo.ts";
import { readSmallFile } from "../../lib/files/text-file.ts";
import { show } from "../../lib/text.ts";
import { novaPlanOf } from "../../migrate/hosts/nova-files.ts";
import { choiceOf } from "../../migrate/hosts/rules/choice.ts";
import { loadSettings } from "../../migrate/open/documents.ts";
import { isLoaded, nodeOf } from "../../model/plan.ts";
import { isSecretName } from "../../model/secret.ts";
import {
  type Configured,
  PLACEHOLDER,
  type Setting,
  type SettingRow,
  type SettingsDoc,
  type SettingsPart,
} from "../../model/settings.ts";
import { releaseNames } from "../../run/files/load-tables.ts";
import { openRun, type RunFolder } from "../../run/files/run-folder.ts";
import { processContext } from "../../run/process-context.ts";
import { planOrNull } from "../../run/run.ts";
import { filesByHost } from "../../systems/database/nova-conf.ts";
import { type Edit, settingsPatch } from "./patch.ts";

interface ConfigOptions {
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
    const desired = desiredSettings(doc, { release, exactFilters, part });
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
  planned: Awaited<ReturnType<typeof plannedHosts>>,
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

/**
 * Compute hosts of instances after apply. Empty without a plan. If machines already use its name,
 * `inUse`, the file of a host may omit it.
 */
async function plannedHosts(run: RunFolder) {
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

export function judgeSettings(
  host: string,
  config: Configured,
  settings: readonly Setting[],
): readonly SettingRow[] {
  return settings.map((setting) => {
    const option = configuredName(config, setting);
    const found = option === null ? null : config.get(option.section, option.key);
    return {
      ...{ host, section: setting.section, key: setting.key },
      wanted: setting.value ?? null,
      ...(setting.bound !== undefined && { bound: setting.bound }),
      found: found === null ? null : masked(setting, found),
      ...(setting.default !== undefined && { default: setting.default }),
      state: stateOf(setting, found),
      where: option === null ? null : config.where(option.section, option.key),
      why: setting.why,
    };
  });
}

/** Masks secrets and addresses with a login. */
function masked({ key, secret }: Setting, found: string): string {
  const hides = secret === true || isSecretName(key) || /:\/\/[^/\s]*@/.test(found);
  return hides && found !== PLACEHOLDER && found.trim() !== "" ? "(set)" : found;
}

/** The configured name of a setting. The newer name takes precedence. */
function configuredName(config: Configured, { section, key, or = key, formerly }: Setting) {
  const names = [{ section, key }, { section, key: or }, ...(formerly ? [formerly] : [])];
  return names.find((name) => config.where(name.section, name.key) !== null) ?? null;
}

function stateOf(setting: Setting, found: string | null): SettingRow["state"] {
  const { value, also = [], default: usual } = setting;
  if (found === null && usual !== undefined && isRight(setting, usual)) return "right";
  if (found === null || found.trim() === "" || found === PLACEHOLDER) return "missing";
  const right = value === undefined || also.some((other) => same(other, found));
  return right || isRight(setting, found) ? "right" : "wrong";
}

function isRight({ value = "", bound }: Setting, found: string): boolean {
  if (bound === undefined) return same(value, found);
  const limit = Number(value);
  const number = /^\s*[+-]?\d+\s*$/.test(found) ? Number(found) : Number.NaN;
  return bound === "at-least" ? number >= limit : number > 0 && number <= limit;
}

/** Compares booleans and numbers as oslo.config does. @source oslo_config/types.py, Boolean */
function same(right: string, found: string): boolean {
  const [one, other] = [right.trim(), found.trim()];
  for (const values of BOOLEANS)
    if (values.test(one) && /^[a-z]+$/i.test(one)) return values.test(other);
  const isNumber = /^-?\d+(\.\d+)?$/;
  return isNumber.test(one) && isNumber.test(other) ? Number(one) === Number(other) : one === other;
}

const BOOLEANS = [/^(true|1|on|yes)$/i, /^(false|0|off|no)$/i];

/**
 * Hosts that no instance will name, or several hosts if all must have one name, as with
 * ClusteredComputeManager. Only with settings of nova-compute.
 * @param hosts `[DEFAULT] host` of each file's host. Null: its own name
 * @param planned hosts that instances will name. Empty: unknown
 * @source facts/nova-bm.md 5.3
 */
export function differingHosts(
  settings: readonly Setting[],
  hosts: readonly { readonly host: string; readonly set: string | null }[],
  planned: Awaited<ReturnType<typeof plannedHosts>> = [],
): string | null {
  if (!settings.some(({ part }) => part === "compute")) return null;
  const message = (must: string): string =>
    `[DEFAULT] host must be ${must}: ${hosts
      .map(({ host, set }) => `${host} has ${set ?? "none, so its own name"}`)
      .join(", ")}`;
  const isPlanned = ({ host, set }: (typeof hosts)[number]): boolean =>
    planned.some(({ name, inUse }) => (set ?? (inUse ? host : null)) === name);
  if (planned.length > 0 && !hosts.every(isPlanned))
    return message(`${planned.map(({ name }) => name).join(" or ")}, the host of the instances`);
  if (!settings.some(({ value }) => value?.endsWith("ClusteredComputeManager"))) return null;
  // The default host name is known if the plan has it.
  const names = new Set(hosts.map(({ host, set }) => set ?? (planned.length > 0 ? host : null)));
  const one = hosts.length < 2 || (names.size === 1 && !names.has(null));
  return one ? null : message("one for all nova-computes");
}

export type DesiredSettings = ReturnType<typeof desiredSettings>;

/**
 * The settings of one release of Nova or ironic-conductor. Notes report releases without a source.
 * @throws MigrationError N2I-E100 for exact filters on a release without them
 * @source facts/systems.md D4
 */
export function desiredSettings(
  doc: SettingsDoc,
  request: {
    readonly release: string;
    readonly exactFilters: boolean;
    /** Default: both parts of Nova. */
    readonly part?: SettingsPart | undefined;
  },
) {
  const { release, exactFilters, part } = request;
  const releases = releaseNames();
  const at = releases.indexOf(release);
  const ofIronic = part === "conductor";
  const isRequested = (one: Pick<Setting, "since" | "until"> & Partial<Pick<Setting, "part">>) =>
    (one.since === undefined || releases.indexOf(one.since) <= at) &&
    (one.until === undefined || at <= releases.indexOf(one.until)) &&
    (one.part === "conductor") === ofIronic;
  const all = doc.settings.filter(isRequested);
  if (!ofIronic && exactFilters && !all.some(({ only }) => only === "exact-filters"))
    throw new MigrationError(
      "N2I-E100",
      `--exact-filters: Nova of ${release} has no exact filters, because flavors request a resource class`,
    );
  const settings = all.filter(
    (setting) =>
      (setting.only === undefined || exactFilters) && (part === undefined || setting.part === part),
  );
  const beyond =
    !ofIronic && at > releases.indexOf(doc.seen)
      ? [
          `Not known for ${release}: there is no source for Nova after ${doc.seen}. The printed settings are those of ${doc.seen}.`,
        ]
      : [];
  return {
    release,
    settings,
    notes: [...beyond, ...doc.notes.filter(isRequested).map(({ say: text }) => text)],
  };
}
