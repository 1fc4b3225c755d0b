import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import { groupedBy } from "../../lib/grouped.ts";
import type { VirtualPower } from "../../model/machine.ts";
import { blank, type PowerOutcome, type PowerReading } from "../../model/power.ts";
import { bareMacs, type Domain, takeApart, vboxDomains, virshDomains } from "./domains.ts";
import { failureOf, type Route, routeOf, runSsh } from "./ssh.ts";

interface AskOptions {
  /** Milliseconds from now. */
  readonly deadline: number;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  /** Path of ssh, by default from the PATH. */
  readonly ssh?: string;
}

/**
 * Reads the power by MAC over one ssh connection, as nova-baremetal's VirtualPowerManager did. Uses
 * only a key and changes nothing. Failures of the host are readings, not errors.
 *
 * @param machines all machines with this host's service_host
 * @throws the signal's reason if aborted; MigrationError N2I-E400 without ssh
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
      return blank(of, { date, client: null }, "verdict" in route ? route : WITHOUT_MAC);
    const answer = "verdict" in found ? { ...found, power: null } : answerFor(machine, found);
    const { power } = answer;
    return { ...blank(of, { date, client: "virsh" }, answer), power, attempts: 1, elapsed };
  };
  return machines.map(readingOf);
}

const WITHOUT_MAC: PowerOutcome = {
  verdict: "incomplete",
  detail: "the machine has no interface with a MAC that identifies it",
};

async function ask(
  route: Route,
  options: AskOptions,
): Promise<ReadonlyMap<string, readonly Domain[]> | PowerOutcome> {
  // Random, so no machine's description can contain it.
  const mark = `n2i${randomBytes(12).toString("hex")}`;
  const run = await runSsh(options.ssh ?? "ssh", route, remoteLine(route.type, mark), options);
  const listed = takeApart(run.stdout, mark);
  const program = route.type === "virsh" ? "virsh" : "VBoxManage";
  if (listed?.end === "missing") return odd(`${route.host} has no program ${program}`);
  if (listed?.end === "failed")
    return odd(`${program} on ${route.host} does not list any machines for ${route.user}`);
  if (listed?.end !== "end") return failureOf(run, route, listed !== null);
  const domains = route.type === "virsh" ? virshDomains(listed) : vboxDomains(listed);
  if (domains !== null) return byMac(domains);
  return odd(`${program} on ${route.host} prints something other than virtual machines`);
}

/** A machine of nova_bm with the MACs of its live interfaces. */
interface VirtualMachine {
  readonly bm_node_id: number;
  readonly macs: readonly string[];
}

type HostAnswer = PowerOutcome & { readonly power: "on" | "off" | null };

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
 * nova-baremetal would use the first of several matching domains; here several are a failure.
 *
 * @source facts/nova-bm.md 3.2
 */
function answerFor(
  machine: VirtualMachine,
  domains: ReadonlyMap<string, readonly Domain[]>,
): HostAnswer {
  const found = [...new Set(bareMacs(machine.macs).flatMap((mac) => domains.get(mac) ?? []))];
  const [domain, other] = found;
  if (domain === undefined) return odd("no virtual machine on the host has a MAC of this machine");
  if (other !== undefined)
    return odd(
      `${found.length} virtual machines on the host have its MACs: ${domain.name} and ${other.name}`,
    );
  const { power, name, state } = domain;
  if (power === null) return odd(`the virtual machine ${name} is neither on nor off: ${state}`);
  return { verdict: "ok", detail: `the virtual machine ${name} is ${state}`, power };
}

function odd(detail: string): HostAnswer {
  return { verdict: "protocol-error", detail, power: null };
}

/**
 * A command that only lists. Machines are identified by UUID, because names may contain anything.
 * The login shell may not be sh, so the command starts sh and contains no quote, backslash or
 * exclamation mark.
 *
 * @param mark letters and digits, new for each run, at the start of marker lines
 */
function remoteLine(type: Route["type"], mark: string): string {
  const { program, list } = PROGRAMS[type];
  const commands = [
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
  return `exec /bin/sh -c '${commands.join("; ")}'`;
}

/**
 * Batches of 50 commands, because virsh needs 20 ms to start. It continues after a failed command.
 * Active domains are on, as in the conductor's drivers.
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
