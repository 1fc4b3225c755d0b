import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import { groupedBy } from "../../lib/grouped.ts";
import { type PowerOutcome, type PowerReading, unasked } from "../../model/power.ts";
import { bareMacs, type Domain, takeApart, vboxDomains, virshDomains } from "./domains.ts";
import { failureOf, runSsh } from "./ssh.ts";
import { type Route, routeOf, type VirtualPower } from "./virsh-settings.ts";

export interface AskOptions {
  /** Milliseconds from now until the verdicts, at most. */
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** What the calendar says. */
  readonly now: () => Date;
  /** Path of ssh; the one on the PATH otherwise. */
  readonly ssh?: string;
}

/**
 * Asks the host of a nova-compute's virtual machines which of them are on, as nova-baremetal's
 * VirtualPowerManager did: over ssh, by MAC, one connection for all of them. Only a key is used. Nothing is changed
 * there. Everything about the host is a reading, not an error.
 *
 * @param machines all that have this host's service_host, in any order
 * @returns one reading a machine, in their order; its address is the host's
 * @throws the signal's reason when it is aborted; MigrationError N2I-E400 when there is no ssh here
 * @source facts/nova-bm.md 3.2
 */
export async function askVirtual(
  host: VirtualPower,
  machines: readonly VirtualMachine[],
  options: AskOptions,
): Promise<readonly PowerReading[]> {
  const date = options.now();
  const start = performance.now();
  const route = await routeOf(host);
  const isAskable = ({ macs }: VirtualMachine): boolean => bareMacs(macs).length > 0;
  const found = "verdict" in route || !machines.some(isAskable) ? null : await ask(route, options);
  const elapsed = Math.round(performance.now() - start);
  const address = host.virtual_power_ssh_host ?? "";
  const readingOf = (machine: VirtualMachine): PowerReading => {
    const of = { bm_node_ids: [machine.bm_node_id], address };
    if (found === null || !isAskable(machine))
      return unasked(of, { date, client: null }, "verdict" in route ? route : WITHOUT_MAC);
    const answer = "verdict" in found ? { ...found, power: null } : answerFor(machine, found);
    const { power } = answer;
    return { ...unasked(of, { date, client: "virsh" }, answer), power, attempts: 1, elapsed };
  };
  return machines.map(readingOf);
}

const WITHOUT_MAC: PowerOutcome = {
  verdict: "incomplete",
  detail: "the machine has no interface with a MAC to find it by",
};

/** The virtual machines there by MAC, or why they are not known. */
async function ask(
  route: Route,
  options: AskOptions,
): Promise<ReadonlyMap<string, readonly Domain[]> | PowerOutcome> {
  // Nobody there knows it before, so no machine's description can hold it.
  const mark = `n2i${randomBytes(12).toString("hex")}`;
  const run = await runSsh(options.ssh ?? "ssh", route, remoteLine(route.type, mark), options);
  const listed = takeApart(run.stdout, mark);
  const program = route.type === "virsh" ? "virsh" : "VBoxManage";
  if (listed?.end === "missing") return odd(`${route.host} has no program ${program}`);
  if (listed?.end === "failed")
    return odd(`${program} on ${route.host} lists no machines for ${route.user}`);
  if (listed?.end !== "end") return failureOf(run, route, listed !== null);
  const domains = route.type === "virsh" ? virshDomains(listed) : vboxDomains(listed);
  if (domains !== null) return byMac(domains);
  return odd(`${program} on ${route.host} prints what is no virtual machine`);
}

/** A machine of nova_bm with every MAC of its live interfaces. */
interface VirtualMachine {
  readonly bm_node_id: number;
  readonly macs: readonly string[];
}

type HostAnswer = PowerOutcome & { readonly power: "on" | "off" | null };

/** Domains by MAC. */
function byMac(domains: readonly Domain[]): ReadonlyMap<string, readonly Domain[]> {
  const claims = domains.flatMap((domain) =>
    [...new Set(domain.macs)].map((mac) => ({ mac, domain })),
  );
  return groupedBy(
    claims,
    ({ mac }) => mac,
    ({ domain }) => domain,
  );
}

/**
 * The power of the one domain that has a MAC of this machine, as nova-baremetal finds it; it would
 * take the first of several, and here none is taken.
 *
 * @source facts/nova-bm.md 3.2
 */
function answerFor(
  machine: VirtualMachine,
  domains: ReadonlyMap<string, readonly Domain[]>,
): HostAnswer {
  const found = [...new Set(bareMacs(machine.macs).flatMap((mac) => domains.get(mac) ?? []))];
  const [domain, other] = found;
  if (domain === undefined) return odd("no virtual machine there has a MAC of this machine");
  if (other !== undefined)
    return odd(
      `${found.length} virtual machines there have its MACs: ${domain.name} and ${other.name}`,
    );
  const { power, name, state } = domain;
  if (power === null) return odd(`the virtual machine ${name} is neither on nor off: ${state}`);
  return { verdict: "ok", detail: `the virtual machine ${name} is ${state}`, power };
}

function odd(detail: string): HostAnswer {
  return { verdict: "protocol-error", detail, power: null };
}

/**
 * The line the other host's shell runs: it lists every machine there, and changes nothing. Of
 * virsh only `list` and `dumpxml` run, of VBoxManage only `list` and `showvminfo`.
 *
 * Machines go by their UUIDs, as names may hold anything. Lines of our own begin with `mark`, which
 * no machine's description can hold, as nobody knows it before. sh is asked for by name, since the
 * login shell may be another; so there is no quote, backslash or exclamation mark in the program.
 *
 * @param mark letters and digits, new for each run
 */
function remoteLine(type: Route["type"], mark: string): string {
  const { program, list } = PROGRAMS[type];
  const words = [
    "LC_ALL=C",
    "export LC_ALL",
    // nova-baremetal ran /usr/bin/virsh.
    "PATH=$PATH:/usr/local/bin:/usr/bin:/bin",
    "export PATH",
    "set -f",
    `m=${mark}`,
    "echo $m begin",
    `if command -v ${program} >/dev/null 2>&1; then ${list}; else echo $m missing; fi`,
  ];
  return `exec /bin/sh -c '${words.join("; ")}'`;
}

/**
 * Several machines a process: virsh takes commands with semicolons between, goes on when one
 * fails, and needs 20 ms to start. What is active is on, as the conductor's drivers have it.
 *
 * @source virsh(1); ironic drivers/modules/ssh.py: `list --name` is what runs
 */
const VIRSH = [
  'v() { virsh --quiet --connect qemu:///system "$@"; }',
  "if all=$(v list --all --uuid) && on=$(v list --uuid) && paused=$(v list --uuid --state-paused)",
  "then for u in $all; do echo $m all $u; done",
  "for u in $on; do echo $m on $u; done",
  "for u in $paused; do echo $m paused $u; done",
  "c=",
  "n=0",
  'for u in $all; do c="$c dumpxml $u;"',
  "n=$((n + 1))",
  'if [ $n -ge 50 ]; then v "$c"; c=; n=0; fi; done',
  'if [ -n "$c" ]; then v "$c"; fi',
  "echo $m end",
  "else echo $m failed; fi",
];

const VBOX = [
  "if all=$(VBoxManage list vms)",
  `then echo "$all" | while read -r line; do u=\${line##*[{]}; u=\${u%?}`,
  "echo $m all $u",
  "VBoxManage showvminfo $u --machinereadable; done",
  "echo $m end",
  "else echo $m failed; fi",
];

const PROGRAMS = {
  virsh: { program: "virsh", list: joined(VIRSH) },
  vbox: { program: "VBoxManage", list: joined(VBOX) },
} as const;

function joined(lines: readonly string[]): string {
  return lines.join("; ");
}
