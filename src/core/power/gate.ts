import type { Finding } from "../../model/finding.ts";
import type { FindingCode } from "../../model/findings.ts";
import { isObject, type Json } from "../../model/json.ts";
import { finding } from "../../model/judge.ts";
import type { Machine } from "../../model/machine.ts";
import type { PowerAdvice, PowerReading, PowerVerdict } from "../../model/power.ts";

/** The readings a plan takes into account, and what the operator said of them. */
export interface PowerView {
  readonly readings: ReadonlyMap<number, PowerReading>;
  /** Why machines whose BMC does not answer are loaded all the same; null: they are not. */
  readonly unreachable: string | null;
  /** Write the measured power into power_state. */
  readonly record: boolean;
}

/** What each verdict means for the load; `ok` alone lets the reading be looked at further. */
const MEANS: { readonly [verdict in PowerVerdict]: FindingCode | null } = {
  ok: null,
  unreachable: "N2I-D600",
  "port-closed": "N2I-D630",
  "no-ipmi2": "N2I-D602",
  "cipher-refused": "N2I-D602",
  "no-slots": "N2I-D606",
  "wrong-user": "N2I-D601",
  "wrong-password": "N2I-D601",
  "wrong-kg": "N2I-D601",
  "privilege-refused": "N2I-D602",
  busy: "N2I-D606",
  "protocol-error": "N2I-D606",
  "no-session": "N2I-D601",
  silent: "N2I-D606",
  deadline: "N2I-D606",
  incomplete: "N2I-D607",
  virtual: "N2I-D605",
  iboot: "N2I-D605",
  tilera: "N2I-D605",
  fake: "N2I-D605",
  "other-power": "N2I-D605",
};

/** The same of a virtual machine, where the host that runs it is asked; D600 to D606 are of BMCs. */
const MEANS_OF_HOST: { readonly [verdict in PowerVerdict]?: FindingCode } = {
  unreachable: "N2I-D608",
  "wrong-password": "N2I-D609",
  "protocol-error": "N2I-D610",
};

/** nova.instances.power_state: 1 running, 4 shut down; anything else says nothing. */
const RECORDED: { readonly [power_state: number]: "on" | "off" } = { 1: "on", 4: "off" };

/**
 * What Nova has against the power that was measured; null: nothing. An instance that is stopped and
 * runs is switched off by Nova itself, whatever its power_state says.
 *
 * @source facts/nova-bm.md 2.5
 */
function contradiction({ nova }: Machine, power: "on" | "off"): string | null {
  const instance = nova?.instance ?? null;
  if (instance === null || instance.deleted) return null;
  const expected = RECORDED[instance.power_state ?? 0] ?? power;
  const will =
    power === "on" && instance.vm_state === "stopped"
      ? "instances.vm_state is stopped: Nova would switch it off"
      : null;
  const differs = expected === power ? null : `nova recorded ${expected}`;
  return [differs, will].filter((text) => text !== null).join("; ") || null;
}

/** Advice the operator has to follow for a conductor to get the same answer. */
function needed(
  advice: readonly PowerAdvice[],
  keys: readonly string[],
  set: { readonly [key: string]: unknown },
): readonly PowerAdvice[] {
  return advice.filter(({ key, value }) => {
    if (key === null) return false;
    // A release that does not read the key cannot be helped by it: the machine needs another way.
    return !keys.includes(key) || value === null || String(set[key]) !== value;
  });
}

/** For a release that does not read the key: saying to set it would be no help. */
function unread(words: string): string {
  return `cannot ${words}: this release does not read it; change the BMC, or accept it`;
}

/**
 * What a machine's reading says against loading it: nothing only for a BMC that answered the
 * conductor's own question as nova knows the machine.
 *
 * @param keys driver_info keys the target release reads
 * @param set driver_info as it would be loaded
 * @source facts/ipmi.md 4.4, 5.1, 5.5; facts/ironic.md 0.1
 */
export function gate(
  machine: Machine,
  reading: PowerReading | undefined,
  keys: readonly string[],
  set: Json | undefined,
  { unreachable }: PowerView,
): readonly Finding[] {
  if (machine.node.deleted === true) return [];
  const where = `bm_nodes.id=${machine.node.id} pm_address`;
  if (reading === undefined) return [finding("N2I-D604", where, "no reading of it in power.jsonl")];
  const { verdict, detail, power, advice, warnings, client } = reading;
  const observed = warnings.map((code) => finding(code, where, `BMC ${reading.address}`));
  const code = (client === "virsh" ? MEANS_OF_HOST[verdict] : undefined) ?? MEANS[verdict];
  if (code !== null) {
    const told = finding(code, where, `${verdict}: ${detail}`);
    const allowed = verdict === "unreachable" && unreachable !== null;
    return [allowed ? { ...told, accepted: unreachable } : told, ...observed];
  }
  const other = needed(advice, keys, isObject(set) ? set : {}).map(({ key, words }) =>
    finding("N2I-D602", where, keys.includes(String(key)) ? words : unread(words)),
  );
  const recorded = power === null ? null : contradiction(machine, power);
  const from = client === "virsh" ? reading.address : "BMC";
  const differs =
    recorded === null ? [] : [finding("N2I-D603", where, `${from} says ${power}, ${recorded}`)];
  return [...other, ...differs, ...observed];
}
