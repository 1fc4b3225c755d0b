import type { Claim } from "../lib/claim.ts";
import type { ObservedState, Port } from "../lib/seen.ts";
import { at, changed, differences } from "./moments.ts";

/** Broken by a VIF that Ironic has not: the port of a server rebuilt stays bound to the old host. */
export const networks: Claim = {
  name: "a server rebuilt keeps its port, which Ironic binds to the machine; the port that Nova made goes with the server; a new one's has its machine's MAC",
  phases: ["forward"],
  check: (seen) => {
    const [before, after] = [at(seen, "finished"), at(seen, "operated")];
    const [rebuilt, deleted] = [asked(seen, "rebuild"), asked(seen, "delete")];
    const newcomer = after.servers.find(({ name }) => name === "newcomer");
    const [freed] = portsOf(before.ports, deleted);
    const node = after.servers.find(({ id }) => id === rebuilt)?.node ?? "";
    const wanted = Object.entries(before.ports).flatMap(([id, port]) => {
      if (port.device === deleted) return [];
      return [[id, port.device === rebuilt ? boundTo(node, port) : port]];
    });
    const made = portsOf(after.ports, newcomer?.id ?? "");
    const found = Object.entries(after.ports).flatMap(([id, port]) =>
      made.includes(port) ? [] : [[id, port.device === rebuilt ? { ...port, options: [] } : port]],
    );
    const whole = made.map(({ mac, host, vnic, vif, status }) => [mac, host, vnic, vif, status]);
    const whose = [freed?.mac, newcomer?.node, "baremetal", "other", "ACTIVE"];
    return [
      ...differences("port", Object.fromEntries(wanted), Object.fromEntries(found)),
      ...differences("new server's", { port: [whose] }, { port: whole }),
    ];
  },
  broken: (seen) =>
    changed(seen, "operated", (moment) => ({
      ...moment,
      ports: { ...moment.ports, ...at(seen, "finished").ports },
    })),
};

/** Which server a tenant asked this of. */
function asked({ acts }: ObservedState, what: string): string {
  const act = acts.find((one) => one.phase === "forward" && one.what === what);
  if (act === undefined) throw new Error(`nobody tried: ${what}`);
  return act.server;
}

function portsOf(ports: { readonly [id: string]: Port }, server: string): readonly Port[] {
  return Object.values(ports).filter(({ device }) => device === server);
}

/** As Ironic's network interface `flat` binds it, which adds DHCP options of its own. */
function boundTo(host: string, port: Port): Port {
  return { ...port, host, vnic: "baremetal", options: [] };
}
