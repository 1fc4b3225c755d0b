import { openService, type RestService } from "../edge/ironic-rest/service.ts";
import { type NetworkService, openNetwork } from "../edge/neutron/ports.ts";
import type { Cloud } from "../edge/openstack/cloud.ts";
import { MigrationError, orNull } from "../model/error.ts";
import { cloudFor, type RestOptions } from "./cloud.ts";
import type { Keep } from "./databases.ts";
import { loadMappings } from "./documents.ts";
import { waitingFor } from "./waiting.ts";

/** Ironic and what stands beside it, as machines that run already are looked at. */
export interface ManagePlace {
  readonly service: RestService;
  /** Asked for where a node names a port; null: nothing says where Neutron is. */
  readonly network: () => Promise<NetworkService | null>;
  readonly cloud: Cloud;
  /** Milliseconds a call may take. */
  readonly limit: number;
}

/** Seconds a call may take. */
const LIMIT = 60;

/**
 * Opens Ironic's API, and Neutron's once somebody asks for it.
 *
 * @param lasts it is asked for days: Neutron may be in the catalog later
 * @throws MigrationError N2I-E100, N2I-E106, N2I-E202, N2I-E208 to N2I-E212
 */
export async function openManagePlace(
  options: RestOptions,
  keep: Keep,
  warn: (text: string) => void,
  lasts = false,
): Promise<ManagePlace> {
  const { apiTimeout = LIMIT } = options;
  if (apiTimeout <= 0) throw new MigrationError("N2I-E100", "--api-timeout takes more than 0");
  const cloud = cloudFor(options);
  if (cloud.tls.insecure)
    warn(`Warning: ${cloud.from} says insecure: certificates are not checked`);
  const { releases, rest } = await loadMappings();
  const limit = apiTimeout * 1000;
  const service = await waitingFor("logging in and asking Ironic what it is", () =>
    openService(cloud, releases, rest, undefined, limit),
  );
  kept(keep, service.session.close);
  let network: Promise<NetworkService | null> | undefined;
  return {
    ...{ service, cloud, limit },
    network() {
      if (network !== undefined) return network;
      const asked = waitingFor("logging in at Neutron", async () => {
        // A catalog without a network service, or no catalog.
        const opened = await orNull(openNetwork(cloud, limit), "N2I-E106");
        if (opened !== null) kept(keep, opened.close);
        if (opened === null && lasts) network = undefined;
        return opened;
      });
      network = asked;
      asked.catch(() => {
        network = undefined;
      });
      return asked;
    },
  };
}

function kept(keep: Keep, close: () => void): void {
  keep({
    close() {
      close();
      return Promise.resolve();
    },
  });
}
