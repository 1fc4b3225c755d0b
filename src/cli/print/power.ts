import { FINDINGS } from "../../model/findings.ts";
import type { Json } from "../../model/json.ts";
import type { PowerAdvice, PowerReading, PowerVerdict } from "../../model/power.ts";
import type { MachineOf } from "../../stages/selection.ts";
import type { MachinesOf } from "./power-groups.ts";
import { vendorOf } from "./vendors.ts";

/** What programs read of a reading; `rowOf` gives it. */
export const COLUMNS = [
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
export const SHORT_COLUMNS = ["BM ID", "Host", "Address", "Verdict", "Power", "What to know"];

/** Each verdict for whoever reads it at night: what it means, and what to do. At most 50 characters. */
const MEANS: { readonly [verdict in PowerVerdict]: string } = {
  ok: "answered as a conductor will ask",
  unreachable: "no answer: look at cable, network, pm_address",
  "port-closed": "port is closed: enable IPMI over LAN there",
  "no-ipmi2": "IPMI 1.5 only: update or replace the BMC",
  "cipher-refused": "neither suite 3 nor 17: enable one in the BMC",
  "no-slots": "all sessions in use: close some, ask again",
  "wrong-user": "user name not known there: correct pm_user",
  "wrong-password": "password refused: correct pm_password",
  "wrong-kg": "has a second key (Kg): clear it, or set it",
  "privilege-refused": "user is below OPERATOR: raise it in the BMC",
  busy: "busy each time: ask again later",
  "protocol-error": "answers what makes no sense: see its line",
  silent: "goes silent midway: lost datagrams, or pm_user",
  "no-session": "ipmitool gets no login: ask natively for why",
  deadline: "too slow: ask again with a longer --deadline",
  incomplete: "not asked: address, user or password unusable",
  virtual: "not asked: its host's ssh settings are missing",
  iboot: "not asked: iBoot has no BMC",
  tilera: "not asked: Tilera has no BMC",
  fake: "not asked: fake power has no BMC",
  "other-power": "not asked: its power manager is not known",
};

/** Releases that read a key of driver_info. @source facts/ipmi.md 5.1 */
const SINCE = {
  ipmi_cipher_suite: "Victoria and later",
  ipmi_priv_level: null,
  ipmi_hex_kg_key: "Stein and later",
} as const;

/** Every verdict but ok, for `--only`. */
export const FAILED: readonly string[] = Object.keys(MEANS).filter((verdict) => verdict !== "ok");

export function rowOf(reading: PowerReading, machines: MachinesOf): readonly Json[] {
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

export function shortRowOf(reading: PowerReading, machines: MachinesOf): readonly Json[] {
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
    `  ${String(count).padStart(8)}  ${verdict.padEnd(17)}  ${MEANS[verdict as PowerVerdict] ?? ""}`.trimEnd(),
  );
  return ["  Machines  Verdict            What it means", ...rows];
}

/** `12 ok, 1 unreachable`, the most frequent first. */
export function words(verdicts: Iterable<readonly [string, number]>): string {
  const told = byCount(verdicts).map(([verdict, count]) => `${count} ${verdict}`);
  return told.join(", ") || "nothing to ask";
}

/** What is known while it runs. @param again machines that failed and may be asked once more */
export function live(verdicts: ReadonlyMap<string, number>, again: number): string {
  if (again === 0) return words(verdicts);
  const more = `${again} failed so far`;
  return verdicts.size === 0 ? more : `${words(verdicts)}, ${more}`;
}

function byCount(
  verdicts: Iterable<readonly [string, number]>,
): readonly (readonly [string, number])[] {
  return [...verdicts].toSorted(([, left], [, right]) => right - left);
}
