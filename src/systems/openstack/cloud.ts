import type { JsonObject } from "../../lib/json.ts";

/** Service types with settings of their own. */
export const SERVICES = ["baremetal", "compute", "placement", "image", "network"] as const;

export type CloudService = (typeof SERVICES)[number];

export interface Sought {
  readonly interface: "public" | "internal" | "admin";
  readonly region: string | null;
}

export interface Cloud {
  /** For messages: `cloud "lab" of /etc/openstack/clouds.yaml`, `OS_*`. */
  readonly from: string;
  readonly auth: Auth;
  /** URLs of services. Null: from the catalog. */
  readonly endpoints: { readonly [service in CloudService]: string | null };
  readonly catalog: { readonly [service in CloudService]: Sought };
  readonly tls: Tls;
}

export interface Tls {
  /** Path of the CA file. Null: the system's. */
  readonly cacert: string | null;
  /** Paths of the client certificate and key. */
  readonly cert: string | null;
  readonly key: string | null;
  /** Skip the verification of certificates. */
  readonly insecure: boolean;
}

/** The origin of a cloud that only variables describe. */
export const ENVIRONMENT = "OS_*";

/** Secrets are in functions so that they cannot be printed. */
export type Auth =
  | {
      readonly kind: "none";
      /** auth_type is set explicitly. Otherwise, auth_url is missing. */
      readonly explicit: boolean;
    }
  | { readonly kind: "basic"; readonly user: string; readonly password: () => string }
  | {
      readonly kind: "keystone";
      readonly url: string;
      /** The `auth` object of a token request: `identity`, and maybe `scope`. */
      readonly question: () => JsonObject;
      /** A secret of any length to remove from messages. */
      readonly secret: () => string;
    };

/** Settings by their name in clouds.yaml (`auth_url`). Empty ones are omitted. */
export type Settings = ReadonlyMap<string, string>;
