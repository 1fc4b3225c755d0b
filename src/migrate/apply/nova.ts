import { inTransaction } from "../../engine/batches.ts";
import type { Direction, Part } from "../../engine/part.ts";
import { counted } from "../../lib/text.ts";
import { HOST_ROWS } from "../../model/nova/host-move.ts";
import {
  type NovaLegName,
  type NovaStep,
  type NovaTarget,
  novaName,
} from "../../model/nova/nova-plan.ts";
import type { NovaFiles } from "../hosts/nova-files.ts";

const progressText: Part["amount"] = ({ done }) => `${counted(done, "row")} of nova`;

/** Nova's rows, a part for each leg. @param flavors the flavor API. Null if flavors are in nova */
export function novaParts(
  nova: Pick<NovaTarget, "inspect" | "perform" | "use">,
  flavors: Pick<NovaTarget, "inspect" | "perform"> | null,
): { readonly [leg in NovaLegName]: Part<NovaStep> } {
  /** By host, the instances that an inspection without writes would have moved. */
  const going = new Map<string, number>();
  const use: NovaTarget["use"] = async (hosts) =>
    new Map(
      [...(await nova.use(hosts))].map(([host, { instances, computes }]) => [
        host,
        { instances: instances - (going.get(host) ?? 0), computes },
      ]),
    );
  const assume = (steps: readonly NovaStep[]): void => {
    for (const { table, before } of steps) {
      const host = String(before?.host);
      if (table === "instances") going.set(host, (going.get(host) ?? 0) + 1);
    }
  };
  const make = (
    leg: NovaLegName,
    target: Pick<NovaTarget, "inspect" | "perform">,
  ): Part<NovaStep> => ({
    name: novaName(leg),
    size: inTransaction(),
    amount: progressText,
    inspect: target.inspect,
    waiting: (steps, direction) => waiting(steps, direction, use),
    assume,
    perform: target.perform,
  });
  return {
    hosts: make("hosts", nova),
    shared: make("shared", nova),
    flavors: make("flavors", nova),
    api: make("api", flavors ?? nova),
  };
}

/** The rows of a leg, as needed to read the journal. To change them, the caller replaces the part. */
export function novaJournalled(
  leg: NovaLegName,
  { steps, sha256 }: Pick<NovaFiles, "steps" | "sha256">,
) {
  return {
    part: { name: novaName(leg), size: inTransaction() },
    ...{ plan: sha256, lines: () => steps(leg) },
    changesOf: (step: NovaStep) => [step],
    machineOf: ({ machine }: NovaStep) => machine,
  };
}

/**
 * Steps that must wait for rows on their hosts, with the reason: a service for its machines, on the
 * way back an aggregate for its instances.
 */
async function waiting(
  steps: readonly NovaStep[],
  direction: Direction,
  use: NovaTarget["use"],
): Promise<ReadonlyMap<string, string>> {
  const table = direction === "forward" ? "services" : "aggregate_hosts";
  const relevant = steps.filter((step) => step.table === table);
  if (relevant.length === 0) return new Map();
  const found = await use(relevant.map(hostOf));
  return new Map(
    relevant.flatMap((step) => {
      const host = hostOf(step);
      const { instances = 0, computes = 0 } = found.get(host) ?? {};
      const uses = [
        ...(instances > 0 ? [counted(instances, "live instance")] : []),
        ...(computes > 0 && table === "services" ? [counted(computes, "compute node")] : []),
      ];
      return uses.length === 0 ? [] : [[step.id, `${host} has ${uses.join(" and ")}`]];
    }),
  );
}

function hostOf({ before, after }: NovaStep): string {
  return String((before ?? after)?.host ?? "");
}

/** Machines that change their compute host, each with all its rows in one transaction. */
export function rowsPart({
  inspect,
  perform,
}: Pick<NovaTarget, "inspect" | "perform">): Part<NovaStep> {
  return { name: HOST_ROWS, size: inTransaction(), amount: progressText, inspect, perform };
}
