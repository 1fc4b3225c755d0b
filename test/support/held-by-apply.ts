import { tenantsOf } from "../../src/migrate/hosts/nova-side.ts";
import { choiceOf } from "../../src/migrate/hosts/rules/choice.ts";
import { changedTenants } from "../../src/migrate/hosts/rules/current-placement.ts";
import { openTenants } from "../../src/systems/nova-db/by-node.ts";
import { openInstances } from "../../src/systems/nova-db/instances.ts";
import { acceptOf } from "../hostile/fleet.ts";
import { after, open, planOf, type Workplace } from "./planned-case.ts";

/**
 * What apply would hold against machines of a plan although nothing changed since: the plan let these
 * facts pass, or the operator accepted them, and nobody can fix by planning again.
 */
export async function heldByApply(at: Workplace): Promise<readonly string[]> {
  const [spec] = after(at.written.extract, "--nova-db");
  if (spec === undefined) return [];
  const nova = await open(spec, true);
  try {
    const now = { instancesOf: openInstances(nova), onNodes: await openTenants(nova), nova };
    const { lines } = await planOf(at);
    const choice = choiceOf(after(at.written.plan, "--compute-host"));
    const held: string[] = [];
    const machines = await tenantsOf(lines, choice);
    for await (const fault of changedTenants(machines, now)) held.push(fault);
    return held;
  } finally {
    await nova.close();
  }
}

/** The case with every finding of the codes accepted for every machine. */
export function accepting<Inputs extends { readonly site?: unknown }>(
  given: Inputs,
  codes: readonly string[],
): Inputs {
  const site = Object(given.site ?? { format: "nova2ironic/site@1" });
  return {
    ...given,
    site: {
      ...site,
      machines: [...(site.machines ?? []), { match: {}, accept: acceptOf(...codes) }],
    },
  };
}
