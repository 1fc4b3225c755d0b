import { type Finding, findingIf } from "../../model/finding.ts";
import type { NovaStep } from "../../model/nova-plan.ts";
import type { InstanceRow, NovaWorld } from "../../model/nova-rows.ts";
import type { Choice } from "./choice.ts";

export interface Memberships {
  /** Aggregates a host must be put into. */
  readonly missing: (host: string) => readonly number[];
  /** Whether an instance would change its aggregates, and with them its availability zone. */
  readonly judge: (instance: InstanceRow, to: string) => readonly Finding[];
}

const NONE: readonly number[] = [];

/**
 * The aggregates of the hosts machines are moved to. A host Nova knows keeps those it has; a new one
 * gets those that all hosts it takes machines from have in common.
 */
export function aggregatesOf(
  { services, aggregates, baremetal }: NovaWorld,
  choice: Choice,
): Memberships {
  const isOf = (host: string): readonly number[] => aggregates.get(host) ?? NONE;
  const wanted = new Map(
    [...choice.targets].map(([to, from]) => {
      const known = services.some(({ host }) => host === to) || aggregates.has(to);
      const sources = (from ?? baremetal).filter((host) => host !== to);
      return [to, known ? isOf(to) : common(sources.map(isOf))] as const;
    }),
  );
  return {
    missing: (host) => (wanted.get(host) ?? NONE).filter((id) => !isOf(host).includes(id)),
    judge({ uuid, host }, to) {
      const [now, then] = [isOf(host ?? ""), wanted.get(to) ?? NONE];
      const same = now.length === then.length && now.every((id) => then.includes(id));
      const differ = `${host} is in aggregates ${told(now)}, ${to} in ${told(then)}`;
      return findingIf(!same && host !== to, "N2I-D221", `instance ${uuid}`, differ);
    },
  };
}

/** Steps that put a host into aggregates. */
export function joining(missing: readonly number[], host: string, at: string): readonly NovaStep[] {
  return missing.map((aggregate_id) => {
    const key = { host, aggregate_id, deleted: 0 };
    return {
      id: `aggregate_hosts:${aggregate_id}/${host}`,
      part: "hosts",
      table: "aggregate_hosts",
      key,
      before: null,
      after: { ...key, created_at: at, updated_at: null, deleted_at: null },
      machine: null,
      of: `host ${host} in aggregate ${aggregate_id}`,
    };
  });
}

function common(sets: readonly (readonly number[])[]): readonly number[] {
  const [first = NONE, ...others] = sets;
  return first.filter((id) => others.every((other) => other.includes(id)));
}

function told(ids: readonly number[]): string {
  return ids.length === 0 ? "none" : ids.join(", ");
}
