import type { CheckResult, CheckView, NovaFacts } from "../../model/check.ts";
import { hasApiAggregates, versionNamed } from "../../model/nova-release.ts";
import { withCloud } from "./cloud.ts";
import { fine, isRefused, told, unreadable, warning } from "./look.ts";

type Members = NonNullable<NovaFacts["aggregates"]>;

/** Hosts whose instances get another name leave what the old one was in. @source facts/nova-bm.md 5.3 */
export function aggregates(view: CheckView): CheckResult {
  return withCloud(view, (nova, ironic) => {
    const planned = view.plan?.nova ?? null;
    const hosts = new Set(
      isRefused(view.bm) ? [] : view.bm.nodes.map(({ service_host }) => service_host ?? ""),
    );
    if (planned === null && (hosts.size < 2 || !ironic.clustered))
      return fine("No host has to be renamed, and none is planned to be.");
    const own = !hasApiAggregates(nova.version);
    const apart = view.api !== null && !isRefused(view.api) ? view.api : null;
    const members = own ? nova.aggregates : (apart?.aggregates ?? null);
    if (members === null && (own || apart !== null))
      return unreadable(own ? "--nova-db" : "--nova-api-db", "aggregates and aggregate_hosts");
    if (members === null)
      return warning(
        `Aggregates of nova ${versionNamed(nova.version)} are in nova_api, which was not read.`,
        "give --nova-api-db",
      );
    const of = (host: string): Members => members.filter((row) => row.host === host);
    if (planned === null)
      return told(
        [...hosts].flatMap((host) => of(host).map(({ name }) => `${host} in ${name}`)),
        "memberships of hosts that become one",
        own
          ? "nova2ironic plan --nova-db DB --compute-host NAME: it joins what all of them have in common"
          : ADD,
        "Warning",
      );
    const moves = [...planned.moves].flatMap(([from, to]) =>
      [...to].map((one) => [from, one] as const),
    );
    const left = moves.flatMap(([from, to]) => {
      const kept = new Set([
        ...of(to).map(({ id }) => id),
        ...(own ? planned.joins : []).filter(({ host }) => host === to).map(({ id }) => id),
      ]);
      return of(from)
        .filter(({ id }) => !kept.has(id))
        .map(({ name }) => `${name}: ${from} is in it, ${to} will not be`);
    });
    return told(
      left,
      "instances would leave their aggregates because their host is renamed",
      own ? "nova aggregate-add-host AGGREGATE HOST, then plan again" : ADD,
      "Warning",
    );
  });
}

/** Nova takes no host into an aggregate that it does not know yet. */
const ADD =
  "openstack aggregate add host AGGREGATE HOST, once the nova-compute of the new host has started and nova-manage cell_v2 discover_hosts ran (N2I-D241)";
