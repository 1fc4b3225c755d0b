import { type Columns, type View, viewOf } from "../../lib/table/table.ts";
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
import { vendorOf } from "./power-groups.ts";

const COLUMNS: Columns<MachineReading> = {
  "BM ID": ({ bm_node_ids }) => bm_node_ids.join(" "),
  UUID: ({ of }) => of("uuid"),
  Host: ({ of }) => of("host"),
  Instance: ({ of }) => of("instance"),
  Address: ({ address }) => address,
  Verdict: ({ verdict }) => verdict,
  Power: ({ power }) => power,
  Vendor: ({ manufacturer }) => vendorOf(manufacturer),
  Firmware: ({ firmware }) => firmware,
  Suite: ({ suite }) => suite,
  Privilege: ({ privilege }) => privilege,
  Attempts: ({ attempts }) => attempts,
  Details: ({ detail }) => detail,
  Advice: ({ advice }) => advice.map(adviceText).join("; "),
  Findings: ({ warnings }) => warnings.join(" "),
  Name: ({ of }) => of("name"),
  "What to know": whatToKnow,
};

/** Columns for a terminal of 80 columns. */
const BRIEF = ["BM ID", "Host", "Address", "Verdict", "Power", "What to know"];
/** Without the column for people. */
const DATA = Object.keys(COLUMNS).filter((title) => title !== "What to know");

/** First releases with a key of driver_info. @source facts/ipmi.md 5.1 */
const SINCE = {
  ipmi_cipher_suite: "Victoria and later",
  ipmi_priv_level: null,
  ipmi_hex_kg_key: "Stein and later",
} as const;

/** A reading with the values of its machines, without duplicates. */
type MachineReading = PowerReading & { readonly of: (what: keyof MachineOf) => string };

export function powerView(
  readings: AsyncIterable<PowerReading> | Iterable<PowerReading>,
  machines: MachinesOf,
): View {
  const causes = ["Verdict", "What to know"];
  return { ...viewOf(COLUMNS, rowsOf(readings, machines)), brief: BRIEF, data: DATA, causes };
}

async function* rowsOf(
  readings: AsyncIterable<PowerReading> | Iterable<PowerReading>,
  machines: MachinesOf,
): AsyncGenerator<MachineReading> {
  for await (const reading of readings) {
    const all = (what: keyof MachineOf) =>
      reading.bm_node_ids.flatMap((id) => machines.get(id)?.[what] ?? []);
    yield { ...reading, of: (what) => [...new Set(all(what))].join(" ") };
  }
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
