import type { Asks } from "./api.ts";

/** The provider network that all machines are in, as nova-baremetal's were. */
export const NETWORK = "provider";

/** Makes it, for every project: a server that names no network gets a port there; its id. */
export async function registerNetwork(asks: Asks): Promise<string> {
  const made = await asks<{ readonly network: { readonly id: string } }>(
    ...(["neutron", "POST", "/networks", { network: PROVIDER }] as const),
  );
  const id = made?.network.id ?? "";
  const subnet = { network_id: id, ip_version: 4, cidr: "198.51.100.0/24", enable_dhcp: true };
  await asks("neutron", "POST", "/subnets", { subnet });
  return id;
}

const PROVIDER = {
  name: NETWORK,
  shared: true,
  "provider:network_type": "flat",
  "provider:physical_network": "machines",
};
