import { isUp } from "../../migrate/hosts/rules/running.ts";
import { type Finding, finding, findingIf } from "../../model/findings.ts";
import type { ComputeHost, MoveMode } from "../../model/nova/host-move.ts";
import type { NovaIdentity } from "../../model/nova/nova-plan.ts";
import { refusesNewHosts } from "../../model/nova/nova-release.ts";

export interface MoveFacts {
  readonly identity: NovaIdentity;
  readonly hosts: readonly ComputeHost[];
  /** Host -> hypervisor types of its live compute nodes. */
  readonly types: ReadonlyMap<string, readonly string[]>;
  /** Host -> its cell; undefined: nova_api was not read. */
  readonly mappings: ReadonlyMap<string, number | null> | undefined;
  /** Host -> ids of its aggregates; null: not read. */
  readonly aggregates: ReadonlyMap<string, readonly number[]> | null;
}

export interface MoveRequest {
  readonly mode: MoveMode;
  /** compute_nodes.hypervisor_type of the machines; default: ironic. */
  readonly driver?: "baremetal" | undefined;
  readonly to: readonly string[];
  /** Seconds without a report after which a nova-compute is considered down. */
  readonly down: number;
  readonly forceAggregates: boolean;
  /** disabled_reason of a fenced service. */
  readonly reason: string;
}

/** @source nova@29.0.0:nova/cmd/manage.py ironic_compute_node_move; the same in 33.0.0 */
export const SENTENCES = {
  source: "Source service is not yet forced down!",
  destination: "Destination compute is forced down!",
  instances:
    "Found an ironic host with more than one instance! Please delete all Nova instances that do not match the instance uuid recorded on the Ironic node.",
} as const;

export function judgeHosts(
  facts: MoveFacts,
  request: MoveRequest,
  from: string,
  to: string,
): readonly Finding[] {
  const serviceOf = (name: string) => facts.hosts.find(({ host }) => host === name);
  return [
    ...judgeSource(serviceOf(from), from, request),
    ...judgeDestination(serviceOf(to), to, facts, request),
    ...judgeCells(facts, from, to),
    ...(request.forceAggregates ? [] : judgeAggregates(facts, from, to)),
  ];
}

function judgeSource(
  service: ComputeHost | undefined,
  from: string,
  { mode, driver, down }: MoveRequest,
): readonly Finding[] {
  const at = `compute host ${from}`;
  // For a takeover, the operator or the site's fence confirms that the host is down (N2I-D270).
  if (service === undefined) return findingIf(mode === "move", "N2I-D252", at, noService(from));
  return [
    // For nova-baremetal, bm_nodes.service_host is the fence.
    ...findingIf(
      mode === "move" && driver === undefined && !isFenced(service),
      ...(["N2I-D250", at, SENTENCES.source] as const),
    ),
    ...findingIf(isUp(service, down), "N2I-D251", at, reportText(service.age)),
  ];
}

export function noService(host: string): string {
  return `Nova has no live nova-compute service of ${host}`;
}

/** Whether the service is forced down; before Liberty, whether it is disabled. */
export function isFenced({ forced_down, disabled }: ComputeHost): boolean {
  return (forced_down === undefined ? disabled : forced_down) === true;
}

function reportText(age: number | null): string {
  if (age === null) return "it never reported";
  return age < 0
    ? `its last report is ${-age} s ahead of the database's clock: set its clock`
    : `it reported ${age} s ago`;
}

function judgeDestination(
  service: ComputeHost | undefined,
  to: string,
  { identity, types }: MoveFacts,
  request: MoveRequest,
): readonly Finding[] {
  const { down } = request;
  const at = `compute host ${to}`;
  if (service === undefined) {
    const starts = refusesNewHosts(identity.head)
      ? ". A new nova-compute of this release refuses to start if instances have its host"
      : "";
    return [finding("N2I-D253", at, `${noService(to)}${starts}`)];
  }
  const { forced_down, disabled, disabled_reason, age } = service;
  const driven = types.get(to) ?? [];
  return [
    ...findingIf(forced_down === true, "N2I-D254", at, SENTENCES.destination),
    ...findingIf(
      disabled === true && forced_down !== true,
      "N2I-D256",
      at,
      disabled_reason ? `it is disabled: ${disabled_reason}` : "it is disabled",
    ),
    ...findingIf(!isUp(service, down), "N2I-D255", at, reportText(age)),
    ...findingIf(
      driven.some((type) => type !== (request.driver ?? "ironic")),
      "N2I-D257",
      at,
      `its compute nodes have hypervisor_type ${driven.join(", ")}`,
    ),
  ];
}

function judgeCells({ mappings }: MoveFacts, from: string, to: string): readonly Finding[] {
  if (mappings === undefined) return [];
  const at = `compute host ${to}`;
  const [old, cell] = [mappings.get(from), mappings.get(to)];
  if (cell === undefined)
    return [finding("N2I-D258", at, "nova_api.host_mappings has no row of it")];
  return findingIf(
    old !== undefined && old !== cell,
    "N2I-D258",
    at,
    `it is mapped to cell ${cell}, ${from} to cell ${old}`,
  );
}

function judgeAggregates({ aggregates }: MoveFacts, from: string, to: string): readonly Finding[] {
  if (aggregates === null) return [];
  const [old, now] = [from, to].map((host) =>
    (aggregates.get(host) ?? []).toSorted((a, b) => a - b).join(", "),
  );
  return findingIf(
    old !== now,
    "N2I-D264",
    `compute host ${to}`,
    `${from} is in aggregates ${old || "none"}, ${to} in ${now || "none"}`,
  );
}
