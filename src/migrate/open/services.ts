import { orNull } from "../../lib/error.ts";
import { cloudFor, type RestOptions } from "../../run/cloud.ts";
import type { Keep } from "../../run/databases.ts";
import { waitingFor } from "../../run/process-context.ts";
import { openService, type RestService } from "../../systems/ironic-api/service.ts";
import type { Cloud } from "../../systems/openstack/cloud.ts";
import { type ImageService, openImages } from "../../systems/openstack/glance-images.ts";
import { type NetworkService, openNetwork } from "../../systems/openstack/neutron-ports.ts";
import { loadMappings } from "./documents.ts";

/** Ironic and its related services, for machines that are in use. */
export interface ManageClients {
  readonly service: RestService;
  /** Called if a node has a port. Null: Neutron's address is unknown. */
  readonly network: () => Promise<NetworkService | null>;
  /** Called if a node has an image. Null: Glance's address is unknown. */
  readonly images: () => Promise<ImageService | null>;
  readonly cloud: Cloud;
  readonly limit: number;
}

/** Seconds for a call. */
const LIMIT = 60;

/**
 * Opens Ironic's API at once, and Neutron's and Glance's on first use.
 * @param lasts for a service that runs for days: a missing catalog entry may be added later
 * @throws MigrationError N2I-E106, N2I-E202, N2I-E208 to N2I-E212
 */
export async function openManageClients(
  options: RestOptions,
  keep: Keep,
  warn: (text: string) => void,
  lasts = false,
): Promise<ManageClients> {
  const { cloud, limit } = cloudOfOptions(options, warn);
  const { releases, rest } = await loadMappings();
  const service = await waitingFor("logging in and reading the version of Ironic", () =>
    openService(cloud, releases, rest, undefined, limit),
  );
  keep(service.session);
  return { ...{ service, cloud, limit }, ...servicesOf(cloud, limit, keep, lasts) };
}

/** The cloud of the options, and the time limit of a call in ms. @throws MigrationError N2I-E106 */
export function cloudOfOptions(
  options: RestOptions,
  warn: (text: string) => void,
): Pick<ManageClients, "cloud" | "limit"> {
  const { apiTimeout = LIMIT } = options;
  const cloud = cloudFor(options);
  if (cloud.tls.insecure) warn(`Warning: ${cloud.from} has insecure: certificates are not checked`);
  return { cloud, limit: apiTimeout * 1000 };
}

/** Neutron and Glance, opened on first use. @param limit milliseconds for a call */
export function servicesOf(
  cloud: Cloud,
  limit: number,
  keep: Keep,
  lasts = false,
): Pick<ManageClients, "network" | "images"> {
  /** Opens a service once, and again after a failure. Null without an address. */
  const lazily = <T extends { readonly close: () => void }>(
    what: string,
    open: () => Promise<T>,
  ): (() => Promise<T | null>) => {
    let cached: Promise<T | null> | undefined;
    return () => {
      if (cached !== undefined) return cached;
      const pending = orNull(waitingFor(what, open), "N2I-E106").then((opened) => {
        if (opened !== null) keep(opened);
        else if (lasts) cached = undefined;
        return opened;
      });
      cached = pending;
      pending.catch(() => {
        cached = undefined;
      });
      return pending;
    };
  };
  return {
    network: lazily("logging in at Neutron", () => openNetwork(cloud, limit)),
    images: lazily("logging in at Glance", () => openImages(cloud, limit)),
  };
}
