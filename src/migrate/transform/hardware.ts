import { type Json, objectOf } from "../../lib/json.ts";
import { type Finding, finding, findingIf, merge } from "../../model/findings.ts";
import type { Driver, ReleaseHardware } from "../../model/ironic/hardware.ts";
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
  if (releases === undefined) {
    const text = "is not one of Ironic's own, so its interfaces and driver_info were not compared";
    return [finding("N2I-D411", `${where} driver`, `${name} ${text}`)];
  }
  const info = objectOf(row.driver_info);
  const able = [...hardware.drivers].filter(
    ([other, driver]) =>
      !/^fake/.test(other) && works(driver, hardware, (key) => !isEmpty(info[key])),
  );
  const have = able.map(([other]) => other).toSorted();
  const of = releases.includes("..") ? releases.replace("..", " to ") : `${releases} and later`;
  const advice = `In ${target.release}, ${have.join(", ") || "no driver"} would work with its driver_info`;
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

/** Whether a driver has the interface of a column. */
function hasInterface({ interfaces }: Driver, column: string, value: string): boolean {
  const kind = column.slice(0, -INTERFACE.length);
  return interfaces === null
    ? OF_CLASSIC.has(kind)
    : interfaces.get(kind)?.includes(value) === true;
}

function wrongInterfaces(
  row: Row,
  name: string,
  driver: Driver,
  release: string,
  where: string,
): readonly Finding[] {
  const found: Finding[] = [];
  for (const column in row) {
    const value = row[column];
    if (typeof value !== "string" || !column.endsWith(INTERFACE)) continue;
    if (hasInterface(driver, column, value)) continue;
    const have = driver.interfaces?.get(column.slice(0, -INTERFACE.length)) ?? [];
    const reason =
      driver.interfaces === null
        ? `${value} is set, but ${name} is a classic driver and has its own`
        : `${name} of ${release} has no ${value}. Available: ${have.join(", ") || "none"}`;
    found.push(finding("N2I-D412", `${where} ${column}`, reason));
  }
  return found;
}

/** Missing driver_info. N2I-D400 reports values that the driver's own rules require. */
function missingValues(
  row: Row,
  driver: Driver,
  hardware: ReleaseHardware,
  rules: DriverRow["rules"],
  where: string,
): readonly Finding[] {
  const info = objectOf(row.driver_info);
  const isMissing = (key: string): boolean => isEmpty(info[key]);
  const isReported = (key: string): boolean =>
    rules.some(({ to, missing }) => missing !== undefined && to === `driver_info.${key}`);
  const found = new Map<string, Finding>();
  for (const kind of SPEAKING) {
    const chosen = row[`${kind}${INTERFACE}`];
    const isExplicit = driver.interfaces !== null && typeof chosen === "string";
    // Without a name, Ironic selects the first enabled interface, so one complete choice suffices.
    const missing = choicesOf(driver, kind, hardware, isExplicit ? chosen : null).map((choice) => ({
      required: choice.required.filter((key) => isMissing(key) && !isReported(key)),
      login: choice.login.filter(isMissing),
    }));
    const [first] = missing;
    if (first === undefined || missing.some((one) => one.required.length + one.login.length === 0))
      continue;
    const able = missing.find(({ required }) => required.length === 0);
    const login = first.login.length > 0 ? ` and, to log in, ${first.login.join(", ")}` : "";
    const text =
      able === undefined
        ? `lacks ${first.required.join(", ")}${login}`
        : `lacks ${able.login.join(", ")} to log in`;
    const by = isExplicit ? `${kind} interface ${chosen}` : String(row.driver);
    const code = able === undefined ? "N2I-D413" : "N2I-D414";
    found.set(code + text, finding(code, `${where} driver_info`, `${by} ${text}`));
  }
  return [...found.values()];
}

/** Whether a driver can read the power with these values of driver_info. */
function works(driver: Driver, hardware: ReleaseHardware, hasValue: (key: string) => boolean) {
  return choicesOf(driver, "power", hardware).some(({ required }) => required.every(hasValue));
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
  const hasRule = (key: string): boolean => rules.some(({ to }) => to === `driver_info.${key}`);
  // Missing and unknown drivers have their own finding.
  return driver === undefined || works(driver, hardware, hasRule);
}

const NOTHING = { required: [], login: [] };

/** The needs of each possible interface. @param chosen the only one, if the node names it */
function choicesOf(
  { interfaces, requirements }: Driver,
  kind: (typeof SPEAKING)[number],
  hardware: ReleaseHardware,
  chosen: string | null = null,
) {
  if (interfaces === null) return [requirements ?? NOTHING];
  const names = chosen === null ? (interfaces.get(kind) ?? []) : [chosen];
  return names.map((name) => hardware.requirements.get(name) ?? NOTHING);
}

/** The release's interfaces for a machine, without those that a replaced driver lacks. */
export function interfacesFor(
  defaults: { readonly [field: string]: string },
  driverName: Json | undefined,
  { drivers }: ReleaseHardware,
): { readonly [field: string]: string } {
  const driver = typeof driverName === "string" ? drivers.get(driverName) : undefined;
  if (driver === undefined || driverName === defaults.driver) return defaults;
  const entries = Object.entries(defaults).filter(
    ([field, value]) => !field.endsWith(INTERFACE) || hasInterface(driver, field, value),
  );
  return Object.fromEntries(entries);
}
