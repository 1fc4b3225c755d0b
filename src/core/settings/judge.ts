import { isSecretName } from "../../model/secret.ts";
import {
  type Configured,
  PLACEHOLDER,
  type Setting,
  type SettingRow,
} from "../../model/settings.ts";

/** Each setting of one host: as it must be, otherwise, or not there. */
export function judgeSettings(
  host: string,
  config: Configured,
  settings: readonly Setting[],
): readonly SettingRow[] {
  return settings.map((setting) => {
    const place = placeOf(config, setting);
    const found = place === null ? null : config.get(place.section, place.key);
    return {
      ...{ host, section: setting.section, key: setting.key },
      wanted: setting.value ?? null,
      found: found === null ? null : shown(setting, found),
      state: stateOf(setting, found),
      where: place === null ? null : config.where(place.section, place.key),
      why: setting.why,
    };
  });
}

/** What may be told of a value; an address may hold a login. */
function shown({ key, secret }: Setting, found: string): string {
  const hides = secret === true || isSecretName(key) || /:\/\/[^/\s]*@/.test(found);
  return hides && found !== PLACEHOLDER && found.trim() !== "" ? "(set)" : found;
}

/** Which of its names is set; the newer one counts. */
function placeOf(config: Configured, { section, key, or, formerly }: Setting) {
  const names = [
    { section, key },
    ...(or === undefined ? [] : [{ section, key: or }]),
    ...(formerly === undefined ? [] : [formerly]),
  ];
  return names.find((name) => config.where(name.section, name.key) !== null) ?? null;
}

function stateOf({ value, also = [] }: Setting, found: string | null): SettingRow["state"] {
  if (found === null || found.trim() === "" || found === PLACEHOLDER) return "missing";
  if (value === undefined) return "right";
  return [value, ...also].some((right) => same(right, found)) ? "right" : "wrong";
}

/** As oslo.config reads booleans and numbers. @source oslo_config/types.py, Boolean */
function same(right: string, found: string): boolean {
  const [one, other] = [right.trim(), found.trim()];
  for (const words of [TRUE, FALSE])
    if (words.has(one.toLowerCase()) && /^[a-z]+$/i.test(one))
      return words.has(other.toLowerCase());
  const isNumber = /^-?\d+(\.\d+)?$/;
  return isNumber.test(one) && isNumber.test(other) ? Number(one) === Number(other) : one === other;
}

const TRUE: ReadonlySet<string> = new Set(["true", "1", "on", "yes"]);
const FALSE: ReadonlySet<string> = new Set(["false", "0", "off", "no"]);

/**
 * Hosts that must be one and are several, or are not the one that instances will name: with
 * ClusteredComputeManager all nova-computes are one.
 *
 * @param hosts `[DEFAULT] host` of each file's host; null: its own name
 * @param planned the host that the plan makes instances name; null: it is not known
 * @source facts/nova-bm.md 5.3
 */
export function differingHosts(
  settings: readonly Setting[],
  hosts: readonly { readonly host: string; readonly set: string | null }[],
  planned: string | null = null,
): string | null {
  if (!settings.some(({ value }) => value?.endsWith("ClusteredComputeManager"))) return null;
  const tell = (must: string): string =>
    `[DEFAULT] host must be ${must}: ${hosts
      .map(({ host, set }) => `${host} has ${set ?? "none, so its own name"}`)
      .join(", ")}`;
  if (planned !== null)
    return hosts.every(({ set }) => set === planned)
      ? null
      : tell(`${planned}, which instances will name`);
  const names = new Set(hosts.map(({ set }) => set));
  const one = hosts.length < 2 || (names.size === 1 && !names.has(null));
  return one ? null : tell("one for all nova-computes");
}
