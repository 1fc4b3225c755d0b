import { byCount } from "../core/power/advice.ts";
import { FINDINGS } from "../model/findings.ts";
import type { Json } from "../model/json.ts";
import {
  type MachineOf,
  type PowerAdvice,
  type PowerReading,
  type PowerVerdict,
  VERDICTS,
} from "../model/power.ts";
import { type MachinesOf, vendorOf } from "./power-groups.ts";
import type { View } from "./table.ts";

/** What programs read of a reading; `rowOf` gives it. */
const COLUMNS = [
  "BM ID",
  "UUID",
  "Host",
  "Instance",
  "Address",
  "Verdict",
  "Power",
  "Vendor",
  "Firmware",
  "Suite",
  "Privilege",
  "Attempts",
  "Details",
  "Advice",
  "Findings",
];

/** What people read of it on 80 columns; `shortRowOf` gives it. */
const SHORT_COLUMNS = ["BM ID", "Host", "Address", "Verdict", "Power", "What to know"];

/** Releases that read a key of driver_info. @source facts/ipmi.md 5.1 */
const SINCE = {
  ipmi_cipher_suite: "Victoria and later",
  ipmi_priv_level: null,
  ipmi_hex_kg_key: "Stein and later",
} as const;

/** @param short what people read on 80 columns; otherwise what programs read */
export function powerView(
  readings: readonly PowerReading[],
  machines: MachinesOf,
  short: boolean,
): View {
  return {
    columns: short ? SHORT_COLUMNS : COLUMNS,
    rows: readings.map((reading) => (short ? shortRowOf : rowOf)(reading, machines)),
  };
}

function rowOf(reading: PowerReading, machines: MachinesOf): readonly Json[] {
  const { bm_node_ids, address, verdict, power, suite, privilege, attempts, detail } = reading;
  const all = (of: keyof MachineOf): string =>
    [...new Set(bm_node_ids.flatMap((id) => machines.get(id)?.[of] ?? []))].join(" ");
  return [
    ...[bm_node_ids.join(" "), all("uuid"), all("host"), all("instance")],
    ...[address, verdict, power, vendorOf(reading.manufacturer), reading.firmware],
    ...[suite, privilege, attempts, detail],
    reading.advice.map(adviceWords).join("; "),
    reading.warnings.join(" "),
  ];
}

function shortRowOf(reading: PowerReading, machines: MachinesOf): readonly Json[] {
  const { bm_node_ids, address, verdict, power, detail, advice, warnings } = reading;
  const known = [
    ...(verdict === "ok" ? [] : [detail]),
    ...advice.map(adviceWords),
    ...warnings.map((code) => `${FINDINGS[code].title} (${code})`),
  ];
  const hosts = new Set(bm_node_ids.flatMap((id) => machines.get(id)?.host ?? []));
  return [
    bm_node_ids.join(" "),
    [...hosts].join(" "),
    address,
    verdict,
    power ?? "",
    known.join("; "),
  ];
}

function adviceWords({ key, words }: PowerAdvice): string {
  const since = key === null ? null : SINCE[key];
  const name = `driver_info.${key}`;
  return since === null ? words : words.replace(name, `${name} (${since})`);
}

/** A row for each verdict with its meaning, the most frequent first. */
export function summary(verdicts: { readonly [verdict: string]: number }): readonly string[] {
  const rows = byCount(Object.entries(verdicts)).map(([verdict, count]) =>
    // The keys are verdicts: they are counted from readings.
    `  ${String(count).padStart(8)}  ${verdict.padEnd(17)}  ${VERDICTS[verdict as PowerVerdict]?.means ?? ""}`.trimEnd(),
  );
  return ["  Machines  Verdict            What it means", ...rows];
}
