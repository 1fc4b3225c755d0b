import { isIP } from "node:net";
import { type Columns, type View, viewer } from "../../lib/table/table.ts";
import { byCount } from "../../migrate/power/rules/gate.ts";
import { FINDINGS } from "../../model/findings.ts";
import {
  type MachineOf,
  type MachinesOf,
  type PowerAdvice,
  type PowerReading,
  type PowerVerdict,
  VERDICTS,
} from "../../model/power.ts";

/** First releases with a key of driver_info. @source facts/ipmi.md 5.1 */
const SINCE = {
  ipmi_cipher_suite: "Victoria and later",
  ipmi_priv_level: null,
  ipmi_hex_kg_key: "Stein and later",
} as const;

export function powerView(
  readings: AsyncIterable<PowerReading> | Iterable<PowerReading>,
  machines: MachinesOf,
): View {
  /** Values of the machines of a reading, without duplicates. */
  const of =
    (what: keyof MachineOf) =>
    ({ bm_node_ids }: PowerReading): string =>
      [...new Set(bm_node_ids.flatMap((id) => machines.get(id)?.[what] ?? []))].join(" ");
  const columns: Columns<PowerReading> = {
    "BM ID": ({ bm_node_ids }) => bm_node_ids.join(" "),
    ...{ UUID: of("uuid"), Host: of("host"), Instance: of("instance") },
    ...{ Address: "address", Verdict: "verdict", Power: "power" },
    Vendor: ({ manufacturer }) => vendorOf(manufacturer),
    ...{ Firmware: "firmware", Suite: "suite", Privilege: "privilege", Attempts: "attempts" },
    Details: "detail",
    Advice: ({ advice }) => advice.map(adviceText).join("; "),
    Findings: ({ warnings }) => warnings.join(" "),
    Name: of("name"),
  };
  // For a terminal of 80 columns.
  const brief = ["BM ID", "Host", "Address", "Verdict", "Power", "What to know"];
  const causes = ["Verdict", "What to know"];
  // The last column is for people.
  const about = { brief, data: Object.keys(columns), causes };
  return viewer({ ...columns, "What to know": whatToKnow }, about)(readings);
}

function whatToKnow({ verdict, detail, advice, warnings }: PowerReading): string {
  return [
    ...(verdict === "ok" ? [] : [detail]),
    ...advice.map(adviceText),
    ...warnings.map((code) => `${FINDINGS[code].title} (${code})`),
  ].join("; ");
}

function adviceText({ key, words: text }: PowerAdvice): string {
  const since = key === null ? null : SINCE[key];
  const name = `driver_info.${key}`;
  return since === null ? text : text.replace(name, `${name} (${since})`);
}

export function summary(verdicts: { readonly [verdict: string]: number }): readonly string[] {
  const rows = byCount(Object.entries(verdicts)).map(([verdict, count]) =>
    // The keys are verdicts, counted from readings.
    `  ${String(count).padStart(8)}  ${verdict.padEnd(17)}  ${VERDICTS[verdict as PowerVerdict]?.means ?? ""}`.trimEnd(),
  );
  return ["  Machines  Verdict            What it means", ...rows];
}

const MOST = 15;
const TITLES = ["Machines", "Cause", "Host", "Subnet", "Vendor"];

/** The largest group first, which shows a common model, password or rack. */
export function groups(
  readings: readonly PowerReading[],
  machinesOf: MachinesOf,
): readonly string[] {
  const found = new Map<
    string,
    { of: readonly string[]; vendors: Set<string>; machines: number }
  >();
  for (const reading of readings)
    for (const cause of causesOf(reading))
      for (const id of reading.bm_node_ids) {
        const of = [cause, machinesOf.get(id)?.host ?? "", subnetOf(reading.address)];
        const key = JSON.stringify(of);
        const group = found.get(key) ?? { of, vendors: new Set(), machines: 0 };
        group.machines += 1;
        const vendor = vendorOf(reading.manufacturer);
        if (vendor !== null) group.vendors.add([vendor, reading.firmware ?? ""].join(" ").trim());
        found.set(key, group);
      }
  if (found.size === 0) return [];
  const all = [...found.values()].toSorted((one, other) => other.machines - one.machines);
  const rows = all
    .slice(0, MOST)
    .map(({ machines, of, vendors }) => [
      ...[String(machines), ...of],
      vendors.size > 1 ? "several" : [...vendors].join(""),
    ]);
  const rest = all.length - rows.length;
  return [...aligned([TITLES, ...rows]), ...(rest > 0 ? [`  and ${rest} smaller groups`] : [])];
}

/** A failed verdict, or each setting that a conductor needs. */
function causesOf({ verdict, advice }: PowerReading): readonly string[] {
  if (verdict !== "ok") return [verdict];
  return advice.map(({ key, value, words: text }) => (key === null ? text : `set ${key}=${value}`));
}

/** The /24 or /64 of an address; a name is returned unchanged. */
export function subnetOf(address: string): string {
  const [bare = ""] = address.split("%", 1);
  if (isIP(bare) === 4) return `${bare.split(".").slice(0, 3).join(".")}.0/24`;
  if (isIP(bare) !== 6) return address;
  const [head = "", tail] = bare.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const groups = [...left, ...Array.from({ length: zeros }, () => "0"), ...right];
  const net = groups.slice(0, 4).map((part) => Number.parseInt(part, 16).toString(16));
  return `${net.join(":").replace(/(^|:)0(:0)*$/, "")}::/64`;
}

function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = TITLES.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    `  ${row.map((text, at) => (at === 0 ? text.padStart(widths[0] ?? 0) : text.padEnd(widths[at] ?? 0))).join("  ")}`.trimEnd(),
  );
}

/** BMC vendors by IANA enterprise number. @source IANA enterprise-numbers, as in ipmitool */
const VENDORS: { readonly [number: number]: string } = {
  2: "IBM",
  11: "HP",
  42: "Sun",
  111: "Oracle",
  119: "NEC",
  343: "Intel",
  674: "Dell",
  2011: "Huawei",
  2623: "ASUS",
  5771: "Cisco",
  6653: "Tyan",
  7244: "Quanta",
  10368: "Fujitsu",
  10437: "Peppercon",
  10876: "Supermicro",
  15000: "Kontron",
  15370: "Gigabyte",
  19046: "Lenovo",
  20301: "IBM",
  20569: "Inventec",
  37945: "Inspur",
  40092: "Wiwynn",
  47196: "HPE",
  49622: "ASRock Rack",
  52538: "Ampere",
};

/** `Dell`, or `IANA 4753` for an unknown number; null if the BMC was not read. */
export function vendorOf(manufacturer: number | null): string | null {
  if (manufacturer === null) return null;
  return VENDORS[manufacturer] ?? `IANA ${manufacturer}`;
}
