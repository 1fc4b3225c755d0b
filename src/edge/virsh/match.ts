import { groupedBy } from "../../model/grouped.ts";
import type { PowerOutcome } from "../../model/power.ts";
import { bareMacs, type Domain } from "./domains.ts";

/** A machine of nova_bm with every MAC of its live interfaces. */
export interface VirtualMachine {
  readonly bm_node_id: number;
  readonly macs: readonly string[];
}

type HostAnswer = PowerOutcome & { readonly power: "on" | "off" | null };

/** Domains by MAC. */
export function byMac(domains: readonly Domain[]): ReadonlyMap<string, readonly Domain[]> {
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
export function answerFor(
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
