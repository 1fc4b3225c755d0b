import type { JsonObject } from "../../lib/json.ts";

/** Services that a cloud's settings can name, by their types in catalogs. */
export const SERVICES = ["baremetal", "compute", "placement", "image", "network"] as const;

export type CloudService = (typeof SERVICES)[number];

/** Which endpoint of a service the catalog is asked for. */
export interface Sought {
  readonly interface: "public" | "internal" | "admin";
  readonly region: string | null;
}

/** How a service wants to be spoken to, whoever wrote it down: the environment or clouds.yaml. */
export interface Cloud {
  /** Where it was found, for messages: `cloud "lab" of /etc/openstack/clouds.yaml`, `OS_*`. */
  readonly from: string;
  readonly auth: Auth;
  /** URL of the bare metal service, when it is said rather than looked up. */
  readonly endpoint: string | null;
  /** URLs of Nova, Placement, Glance and Neutron, likewise. */
  readonly compute: string | null;
  readonly placement: string | null;
  readonly image: string | null;
  readonly network: string | null;
  readonly catalog: { readonly [service in CloudService]: Sought };
  readonly tls: Tls;
}

export interface Tls {
  /** Path of the certificate authorities; null for the system's. */
  readonly cacert: string | null;
  /** Paths of a client's certificate and its key. */
  readonly cert: string | null;
  readonly key: string | null;
  /** Certificates are not looked at. */
  readonly insecure: boolean;
}

/** Where a cloud was found that only variables name. */
export const ENVIRONMENT = "OS_*";

/** Secrets are behind functions so that they cannot print. */
export type Auth =
  | {
      readonly kind: "none";
      /** Somebody said that it is so; else nobody named a Keystone. */
      readonly named: boolean;
    }
  | { readonly kind: "basic"; readonly user: string; readonly password: () => string }
  | {
      readonly kind: "keystone";
      readonly url: string;
      /** What a token is asked for with, as Keystone's v3 wants it: `identity`, and a `scope`. */
      readonly question: () => JsonObject;
      /** What of it nobody may repeat; of any length. */
      readonly secret: () => string;
    };

/** Settings by their names in clouds.yaml: `auth_url`, `user_domain_name`; an empty one is not there. */
export type Settings = ReadonlyMap<string, string>;
