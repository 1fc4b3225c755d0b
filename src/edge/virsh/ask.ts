import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import type { PowerReading } from "../../model/power.ts";
import { withAskpass } from "./askpass.ts";
import type { Domain } from "./domain.ts";
import { takeApart } from "./listing.ts";
import { answerFor, bareMacs, byMac, type HostAnswer, type VirtualMachine } from "./match.ts";
import { remoteLine } from "./remote.ts";
import { type HostVerdict, type Route, routeOf, type VirtualPower } from "./settings.ts";
import { type Run, runSsh } from "./ssh.ts";
import { sshArguments } from "./ssh-arguments.ts";
import { failureOf } from "./ssh-verdict.ts";
import { vboxDomains } from "./vbox-list.ts";
import { virshDomains } from "./virsh-list.ts";

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
 * VirtualPowerManager did: over ssh, by MAC, one connection for all of them. Nothing is changed
 * there. Everything about the host is a reading, not an error.
 *
 * @param machines all that have this host's service_host, in any order
 * @param password of virtual_power_host_user; null when none is set
 * @returns one reading a machine, in their order; its address is the host's
 * @throws the signal's reason when it is aborted; MigrationError N2I-E400 when there is no ssh here
 * @source facts/nova-bm.md 3.2
 */
export async function askVirtual(
  host: VirtualPower,
  machines: readonly VirtualMachine[],
  password: (() => string) | null,
  options: AskOptions,
): Promise<readonly PowerReading[]> {
  const asked_at = options.now().toISOString();
  const start = performance.now();
  const route = await routeOf(host, password);
  const isAskable = (machine: VirtualMachine): boolean => bareMacs(machine).length > 0;
  const found = "verdict" in route || !machines.some(isAskable) ? null : await ask(route, options);
  const elapsed = found === null ? 0 : Math.round(performance.now() - start);
  const answerOf = (machine: VirtualMachine): HostAnswer => {
    if ("verdict" in route) return { ...route, power: null };
    if (found === null || !isAskable(machine)) return { ...WITHOUT_MAC, power: null };
    return "verdict" in found ? { ...found, power: null } : answerFor(machine, found);
  };
  return machines.map((machine) => {
    const asked = found !== null && isAskable(machine);
    return {
      ...UNKNOWN,
      ...answerOf(machine),
      bm_node_ids: [machine.bm_node_id],
      address: host.virtual_power_ssh_host ?? "",
      client: asked ? "virsh" : null,
      attempts: asked ? 1 : 0,
      elapsed: asked ? elapsed : 0,
      asked_at,
    };
  });
}

const WITHOUT_MAC: HostVerdict = {
  verdict: "incomplete",
  detail: "the machine has no interface with a MAC to find it by",
};

/** What a virtual machine has none of. */
const UNKNOWN = {
  suite: null,
  suites: null,
  kg: null,
  privilege: null,
  device: null,
  manufacturer: null,
  firmware: null,
  pass: 1,
  rtt: null,
  warnings: [],
  advice: [],
} as const;

/** The virtual machines there by MAC, or why they are not known. */
async function ask(
  route: Route,
  options: AskOptions,
): Promise<ReadonlyMap<string, readonly Domain[]> | HostVerdict> {
  // Nobody there knows it before, so no machine's description can hold it.
  const mark = `n2i${randomBytes(12).toString("hex")}`;
  const run = await runOnce(
    route,
    sshArguments(route, remoteLine(route.type, mark), options.deadline),
    options,
  );
  const listed = takeApart(run.stdout, mark);
  const program = route.type === "virsh" ? "virsh" : "VBoxManage";
  if (listed?.end === "missing")
    return { verdict: "protocol-error", detail: `${route.host} has no program ${program}` };
  if (listed?.end === "failed")
    return {
      verdict: "protocol-error",
      detail: `${program} on ${route.host} lists no machines for ${route.user}`,
    };
  if (listed?.end !== "end") return failureOf(run, route, listed !== null);
  const domains = route.type === "virsh" ? virshDomains(listed) : vboxDomains(listed);
  if (domains !== null) return byMac(domains);
  return {
    verdict: "protocol-error",
    detail: `${program} on ${route.host} prints what is no virtual machine`,
  };
}

async function runOnce(
  { key, password }: Route,
  args: readonly string[],
  options: AskOptions,
): Promise<Run> {
  const program = options.ssh ?? "ssh";
  // A key with a passphrase is of use when an agent has it open.
  const agent = key === null ? undefined : process.env.SSH_AUTH_SOCK;
  const environment = agent === undefined ? {} : { SSH_AUTH_SOCK: agent };
  if (password === null) return runSsh(program, args, environment, options);
  return withAskpass((askpass) =>
    runSsh(program, args, { ...environment, ...askpass }, { ...options, input: `${password()}\n` }),
  );
}
