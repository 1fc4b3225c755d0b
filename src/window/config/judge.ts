import { MigrationError } from "../../lib/error.ts";
import { isSecretName } from "../../model/secret.ts";
import {
  type Configured,
  PLACEHOLDER,
  type Setting,
  type SettingRow,
  type SettingsDoc,
  type SettingsPart,
} from "../../model/settings.ts";

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
  if (value === undefined) return "right";
  const right = also.some((other) => same(other, found)) || isRight(setting, found);
  return right ? "right" : "wrong";
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
  for (const values of [TRUE, FALSE])
    if (values.has(one.toLowerCase()) && /^[a-z]+$/i.test(one))
      return values.has(other.toLowerCase());
  const isNumber = /^-?\d+(\.\d+)?$/;
  return isNumber.test(one) && isNumber.test(other) ? Number(one) === Number(other) : one === other;
}

const TRUE: ReadonlySet<string> = new Set(["true", "1", "on", "yes"]);
const FALSE: ReadonlySet<string> = new Set(["false", "0", "off", "no"]);

export interface PlannedHost {
  readonly name: string;
  /** Machines already use this host name, so its file may omit it. */
  readonly inUse: boolean;
}

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
  planned: readonly PlannedHost[] = [],
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

export interface DesiredSettings {
  readonly release: string;
  readonly settings: readonly Setting[];
  /** Additional facts, and unknown ones. */
  readonly notes: readonly string[];
}

/**
 * The settings of one release of Nova, by default of both parts, or of ironic-conductor. Notes report releases without a source.
 * @param releases all known ones, oldest first
 * @throws MigrationError N2I-E100 for exact filters on a release without them
 * @source facts/systems.md D4
 */
export function desiredSettings(
  doc: SettingsDoc,
  releases: readonly string[],
  request: {
    readonly release: string;
    readonly exactFilters: boolean;
    readonly part?: SettingsPart | undefined;
  },
): DesiredSettings {
  const { release, exactFilters, part } = request;
  const at = releases.indexOf(release);
  const holds = ({ since, until }: { readonly since?: string; readonly until?: string }) =>
    (since === undefined || releases.indexOf(since) <= at) &&
    (until === undefined || at <= releases.indexOf(until));
  const ofIronic = part === "conductor";
  const isRequested = (
    one: Parameters<typeof holds>[0] & { readonly part?: SettingsPart },
  ): boolean => holds(one) && (one.part === "conductor") === ofIronic;
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
