import { isUp } from "../../migrate/hosts/rules/running.ts";
import { type Acceptance, type Finding, type FindingCode, finding } from "../../model/findings.ts";
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
  /** Of a machine and its host, in the site document. */
  readonly acceptances: (machine: string, from: string) => readonly Acceptance[];
}

/** @source nova@29.0.0:nova/cmd/manage.py ironic_compute_node_move; the same in 33.0.0 */
export const SENTENCES = {
  source: "Source service is not yet forced down!",
  destination: "Destination compute is forced down!",
  instances:
    "Found an ironic host with more than one instance! Please delete all Nova instances that do not match the instance uuid recorded on the Ironic node.",
} as const;

/** Code, place and message. The message is false if the finding does not occur. */
type Check = readonly [code: FindingCode, place: string, message: string | false];

export function findingsOf(checks: readonly Check[]): readonly Finding[] {
  return checks.flatMap(([code, at, message]) =>
    message === false ? [] : [finding(code, at, message)],
  );
}

type HostRequest = Pick<MoveRequest, "mode" | "driver" | "down" | "forceAggregates">;

export function judgeHosts(
  facts: MoveFacts,
  request: HostRequest,
  from: string,
  to: string,
): readonly Finding[] {
  const serviceOf = (name: string) => facts.hosts.find(({ host }) => host === name);
  return findingsOf([
    ...judgeSource(serviceOf(from), from, request),
    ...judgeDestination(serviceOf(to), to, facts, request),
    ...judgeGroups(facts, request, from, to),
  ]);
}

function judgeSource(
  service: ComputeHost | undefined,
  from: string,
  { mode, driver, down }: HostRequest,
): readonly Check[] {
  const at = `compute host ${from}`;
  // For a takeover, the operator or the site's fence confirms that the host is down (N2I-D270).
  if (service === undefined) return [["N2I-D252", at, mode === "move" && noService(from)]];
  // For nova-baremetal, bm_nodes.service_host is the fence.
  const mayRun = mode === "move" && driver === undefined && !isFenced(service);
  return [
    ["N2I-D250", at, mayRun && SENTENCES.source],
    ["N2I-D251", at, isUp(service, down) && reportText(service.age)],
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
  { down, driver }: HostRequest,
): readonly Check[] {
  const at = `compute host ${to}`;
  if (service === undefined) {
    const starts = refusesNewHosts(identity.head)
      ? ". A new nova-compute of this release refuses to start if instances have its host"
      : "";
    return [["N2I-D253", at, `${noService(to)}${starts}`]];
  }
  const { forced_down, disabled, disabled_reason, age } = service;
  const driven = types.get(to) ?? [];
  const reason = disabled_reason ? `: ${disabled_reason}` : "";
  const isOther = driven.some((type) => type !== (driver ?? "ironic"));
  return [
    ["N2I-D254", at, forced_down === true && SENTENCES.destination],
    ["N2I-D256", at, disabled === true && forced_down !== true && `it is disabled${reason}`],
    ["N2I-D255", at, !isUp(service, down) && reportText(age)],
    ["N2I-D257", at, isOther && `its compute nodes have hypervisor_type ${driven.join(", ")}`],
  ];
}

/** Cells and aggregates. */
function judgeGroups(
  { mappings, aggregates }: MoveFacts,
  { forceAggregates }: HostRequest,
  from: string,
  to: string,
): readonly Check[] {
  const at = `compute host ${to}`;
  const [source, cell] = [mappings?.get(from), mappings?.get(to)];
  const differs = source !== undefined && source !== cell;
  const fault =
    cell === undefined
      ? "nova_api.host_mappings has no row of it"
      : differs && `it is mapped to cell ${cell}, ${from} to cell ${source}`;
  const [old, now] = [from, to].map((host) =>
    (aggregates?.get(host) ?? []).toSorted((a, b) => a - b).join(", "),
  );
  const texts = `${from} is in aggregates ${old || "none"}, ${to} in ${now || "none"}`;
  return [
    ["N2I-D258", at, mappings !== undefined && fault],
    ["N2I-D264", at, !forceAggregates && old !== now && texts],
  ];
}
