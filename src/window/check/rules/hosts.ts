import { counted, createSeveral } from "../../../lib/text.ts";
import type { BmFacts, NovaFacts, PlanFacts } from "../../../model/check.ts";
import type { FindingCode } from "../../../model/findings.ts";
import { index } from "../../../model/rows.ts";
import { fine, isRefused, lower, needing, planned, resultOf } from "./look.ts";

/** Findings that block a machine whose instance is on a wrong host, and that can be accepted. */
const HELD: readonly FindingCode[] = ["N2I-D225", "N2I-D226", "N2I-D227"];
const FIX =
  "nova2ironic plan --nova-db DB --compute-host NAME, then apply --nova-db DB; explain N2I-D225 and N2I-D227";

interface Tenant {
  readonly uuid: string;
  readonly host: string | null;
  /** The fault of its location. Null: none by itself. */
  readonly fault: string | null;
  readonly accepted: boolean;
}

/**
 * Compares each instance's planned host and node with its machine's nova-compute.
 * @source facts/nova-bm.md 5.2, 5.3; facts/rehearsal.md 5
 */
export const hosts = needing(["bm", "nova"], ({ bm, nova, plan, ironic }) => {
  const clustered = !isRefused(ironic) && ironic.clustered;
  const [open, taken] = [createSeveral(), createSeveral()];
  const tenants = (): Iterable<Tenant> => tenantsOf(bm, nova, plan);
  const only = firstSound(tenants());
  let count = 0;
  for (const { uuid, host, fault, accepted } of tenants()) {
    count += 1;
    const apart = clustered && host !== only ? `${uuid} under ${host}, others under ${only}` : null;
    const what = fault ?? apart;
    if (what !== null) (accepted ? taken : open).add(what);
  }
  if (open.length + taken.length === 0)
    return fine(
      `${counted(count, "instance has", "instances have")} the nova-compute host of their machine.`,
    );
  const what = "instances whose host is not the nova-compute of their machine";
  return open.length > 0
    ? resultOf(open, `${what}. Through Kilo, nova-compute destroys them when it starts`, FIX)
    : resultOf(taken, `${what}, as you accepted`, FIX, "Warning");
});

/** The host of the first one without a fault. */
function firstSound(tenants: Iterable<Tenant>): string | null {
  for (const { fault, host } of tenants) if (fault === null) return host;
  return null;
}

function* tenantsOf(bm: BmFacts, nova: NovaFacts, plan: PlanFacts | null): Generator<Tenant> {
  const instances = index(nova.instances, "uuid");
  const lines = planned(plan);
  const services = new Set(nova.beats.map(({ host }) => host));
  for (const { id, uuid: machine, instance_uuid, service_host } of bm.nodes) {
    const row = instances(instance_uuid).at(-1);
    // Missing and deleted instances have their own rows.
    if (row === undefined || row.deleted || plan?.skipped.has(id)) continue;
    const line = lines({ uuid: machine, id });
    const held = HELD.filter((code) => line?.findings.has(code));
    // A machine that is not loaded, or loaded without its instance, is not at risk.
    if (line?.blocked ? held.length === 0 : line?.instance_uuid === null) continue;
    const uuid = lower(instance_uuid);
    const { host, node } = plan?.nova?.places.get(uuid) ?? row;
    const runs = line?.host ?? service_host;
    const known = runs !== null && (services.has(runs) || plan?.nova?.hosts.includes(runs));
    const [fault = null] = [
      ...(host === runs
        ? []
        : [`${uuid} under ${named(host)}, its nova-compute is ${named(runs)}`]),
      ...(lower(node) === lower(machine)
        ? []
        : [`${uuid} on node ${named(node)}, its machine is ${named(machine)}`]),
      ...(known ? [] : [`${uuid} under ${named(host)}, which is not a nova-compute host`]),
    ];
    const accepted = held.some((code) => line?.findings.get(code) === true);
    yield { uuid, host, fault, accepted };
  }
}

function named(value: string | null): string {
  return value ?? "none";
}
