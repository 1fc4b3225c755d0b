import type { NovaStep, NovaTarget } from "../model/nova-plan.ts";

type Use =
  Awaited<ReturnType<NovaTarget["use"]>> extends ReadonlyMap<string, infer Of> ? Of : never;

interface Waits {
  readonly table: NovaStep["table"];
  readonly for: readonly (keyof Use)[];
}

/**
 * Rows of a host that machines share, and what on the host they wait for: its service is disabled
 * when nothing is left on it, and it leaves an aggregate when no instance needs that any more.
 */
const WAITS = {
  forward: { table: "services", for: ["instances", "computes"] },
  back: { table: "aggregate_hosts", for: ["instances"] },
} as const satisfies { readonly [way: string]: Waits };

const NAMES: { readonly [kind in keyof Use]: string } = {
  instances: "live instances",
  computes: "compute nodes",
};

/** Steps that must wait for what nova has on their hosts now, with why. */
export async function waiting(
  steps: readonly NovaStep[],
  way: keyof typeof WAITS,
  use: NovaTarget["use"],
): Promise<ReadonlyMap<string, string>> {
  const { table, for: kinds }: Waits = WAITS[way];
  const asked = steps.filter((step) => step.table === table);
  if (asked.length === 0) return new Map();
  const found = await use(asked.map(hostOf));
  return new Map(
    asked.flatMap((step) => {
      const host = hostOf(step);
      const there = kinds.flatMap((kind) => {
        const count = found.get(host)?.[kind] ?? 0;
        return count > 0 ? [`${count} ${NAMES[kind]}`] : [];
      });
      return there.length === 0 ? [] : [[step.id, `${there.join(" and ")} name ${host} still`]];
    }),
  );
}

function hostOf({ before, after }: NovaStep): string {
  return String((before ?? after)?.host ?? "");
}
