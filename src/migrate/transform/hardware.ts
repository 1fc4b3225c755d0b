import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { type Finding, finding, findingIf, merge } from "../../model/findings.ts";
import type { Driver, ReleaseHardware, ReleaseRequirements } from "../../model/ironic/hardware.ts";
import type { Row } from "../../model/machine.ts";
import type { DriverRow, Mapping } from "../../model/mapping.ts";

const INTERFACE = "_interface";
/** Interfaces that a node of a classic driver may have. @source facts/ironic.md 1.2 */
const OF_CLASSIC: ReadonlySet<string> = new Set(["network", "storage"]);
/** Interfaces that access the BMC. Without their values, a takeover fails. */
const SPEAKING = ["power", "management"] as const;

/**
 * Conflicts between a node's driver, interfaces and driver_info in this release. One such node
 * stops the conductor's takeover of all others.
 * @source mappings/hardware.json; facts/ironic.md 3.1, 3.2
 */
export function inspectHardware(
  row: Row,
  {
    hardware,
    target,
  }: Pick<Mapping, "hardware"> & { readonly target: Pick<Mapping["target"], "release"> },
  { rules }: DriverRow,
  where: string,
): readonly Finding[] {
  const { driver: name } = row;
  if (typeof name !== "string") return [];
  const driver = hardware.drivers.get(name);
  if (driver !== undefined)
    return merge([
      wrongInterfaces(row, name, driver, target.release, where),
      missingValues(row, driver, hardware, rules, where),
    ]);
  const releases = hardware.elsewhere.get(name);
  const info = objectOf(row.driver_info);
  const hasValue = (key: string): boolean => !isEmpty(info[key]);
  const able = [...hardware.drivers].filter(
    ([other, driver]) => !/^fake/.test(other) && works(driver, hardware, hasValue),
  );
  const have = able
    .map(([other]) => other)
    .toSorted()
    .join(", ");
  if (releases === undefined) {
    const text = "is not one of Ironic's own, so its interfaces and driver_info were not compared";
    return [finding("N2I-D411", `${where} driver`, `${name} ${text}`)];
  }
  const of = releases.includes("..") ? releases.replace("..", " to ") : `${releases} and later`;
  const advice = `In ${target.release}, ${have || "no driver"} would work with its driver_info`;
  return [finding("N2I-D410", `${where} driver`, `${name} is a driver of ${of}. ${advice}`)];
}

/**
 * Finds nodes whose deployment does not write a disk, so that the next instance gets the previous one's
 * data.
 * @source ironic/drivers/fake.py of 2014.2 to 10.1: of the classic fake drivers only fake_pxe and
 * fake_agent deploy; fake_hardware.py: the default deploy_interface is fake; agent.py
 * CustomAgentDeploy has no step that writes an image
 */
export function inspectDeploy(row: Row, where: string): readonly Finding[] {
  const { driver, deploy_interface: by } = row;
  const isExplicit = typeof by === "string";
  const deploysNothing = isExplicit
    ? /^(fake|custom-agent)$/.test(by)
    : /^fake(?!_(pxe|agent)$)/.test(String(driver));
  const which = isExplicit ? `deploy_interface ${by}` : `driver ${String(driver)}`;
  return findingIf(deploysNothing, "N2I-D416", where, `${which} does not write a disk`);
}

function wrongInterfaces(
  row: Row,
  name: string,
  { interfaces }: Driver,
  release: string,
  where: string,
): readonly Finding[] {
  const found: Finding[] = [];
  for (const column in row) {
    const value = row[column];
    if (typeof value !== "string" || !column.endsWith(INTERFACE)) continue;
    const kind = column.slice(0, -INTERFACE.length);
    const have = interfaces?.get(kind) ?? [];
    if (interfaces === null ? OF_CLASSIC.has(kind) : have.includes(value)) continue;
    const reason =
      interfaces === null
        ? `${value} is set, but ${name} is a classic driver and has its own`
        : `${name} of ${release} has no ${value}. Available: ${have.join(", ") || "none"}`;
    found.push(finding("N2I-D412", `${where} ${column}`, reason));
  }
  return found;
}

function missingValues(
  row: Row,
  driver: Driver,
  hardware: ReleaseHardware,
  rules: DriverRow["rules"],
  where: string,
): readonly Finding[] {
  const info = objectOf(row.driver_info);
  const found = new Map<string, Finding>();
  for (const kind of SPEAKING) {
    const chosen = row[`${kind}${INTERFACE}`];
    const isExplicit = driver.interfaces !== null && typeof chosen === "string";
    // Without a name, Ironic selects the first enabled interface, so one complete choice suffices.
    const choices = isExplicit
      ? [hardware.requirements.get(chosen) ?? NOTHING]
      : choicesOf(driver, kind, hardware);
    if (choices.some((one) => has(info, one))) continue;
    const by = isExplicit ? `${kind} interface ${chosen}` : String(row.driver);
    const rest = choices.map((one) => withoutRuleFields(one, rules));
    const fault = rest.some((one) => has(info, one)) ? null : missingInfo(info, rest, by, where);
    if (fault !== null) found.set(fault.code + fault.message.replace(by, ""), fault);
  }
  return [...found.values()];
}

/** N2I-D400 reports values that the driver's own rules require. */
function withoutRuleFields(
  { required, login }: ReleaseRequirements,
  rules: DriverRow["rules"],
): ReleaseRequirements {
  const fields = new Set(rules.flatMap(({ missing, to }) => (missing === undefined ? [] : [to])));
  return { required: required.filter((key) => !fields.has(`driver_info.${key}`)), login };
}

function has(info: JsonObject, { required, login }: ReleaseRequirements): boolean {
  return [required, login].every((keys) => keys.every((key) => !isEmpty(info[key])));
}

/** Whether a driver can read the power with these values of driver_info. */
function works(driver: Driver, hardware: ReleaseHardware, hasValue: (key: string) => boolean) {
  return choicesOf(driver, "power", hardware).some(({ required }) => required.every(hasValue));
}

/** The missing driver_info, if no choice is complete. */
function missingInfo(
  info: JsonObject,
  choices: readonly ReleaseRequirements[],
  by: string,
  where: string,
): Finding | null {
  const missing = choices.map(({ required, login }) => ({
    required: required.filter((key) => isEmpty(info[key])),
    login: login.filter((key) => isEmpty(info[key])),
  }));
  const [first] = missing;
  if (first === undefined) return null;
  const able = missing.find(({ required }) => required.length === 0);
  const location = `${where} driver_info`;
  if (able !== undefined)
    return finding("N2I-D414", location, `${by} lacks ${able.login.join(", ")} to log in`);
  const login = first.login.length > 0 ? ` and, to log in, ${first.login.join(", ")}` : "";
  return finding("N2I-D413", location, `${by} lacks ${first.required.join(", ")}${login}`);
}

function isEmpty(value: Json | undefined): boolean {
  return value === undefined || value === null || value === "";
}

/** Whether a driver of the site document works with the values of a power manager's row. */
export function meetsRequirements(
  { rules }: DriverRow,
  driverName: string,
  hardware: ReleaseHardware,
): boolean {
  const driver = hardware.drivers.get(driverName);
  // Missing and unknown drivers have their own finding.
  if (driver === undefined) return true;
  const mapped = new Set(rules.map(({ to }) => to));
  return works(driver, hardware, (key) => mapped.has(`driver_info.${key}`));
}

const NOTHING: ReleaseRequirements = { required: [], login: [] };

function choicesOf(
  { interfaces, requirements }: Driver,
  kind: (typeof SPEAKING)[number],
  hardware: ReleaseHardware,
): readonly ReleaseRequirements[] {
  return interfaces === null
    ? [requirements ?? NOTHING]
    : (interfaces.get(kind) ?? []).map((name) => hardware.requirements.get(name) ?? NOTHING);
}

/** The release's interfaces for a machine, without those that a replaced driver lacks. */
export function interfacesFor(
  defaults: { readonly [field: string]: string },
  driverName: Json | undefined,
  { drivers }: ReleaseHardware,
): { readonly [field: string]: string } {
  const driver = typeof driverName === "string" ? drivers.get(driverName) : undefined;
  if (driver === undefined || driverName === defaults.driver) return defaults;
  return Object.fromEntries(
    Object.entries(defaults).filter(([field, value]) => {
      if (!field.endsWith(INTERFACE)) return true;
      const kind = field.slice(0, -INTERFACE.length);
      if (driver.interfaces === null) return OF_CLASSIC.has(kind);
      return driver.interfaces.get(kind)?.includes(value) === true;
    }),
  );
}
