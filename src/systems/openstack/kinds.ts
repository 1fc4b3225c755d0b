import type { CloudService } from "./cloud.ts";

/** What calls to one kind of service need to know of it. */
export interface ServiceKind {
  readonly name: CloudService;
  /** Names of the service in catalogs. */
  readonly types: ReadonlySet<string>;
  /** A version at the end of its URL, which is replaced by the one that is spoken, if its paths have none here. */
  readonly version: RegExp;
  readonly spoken?: string;
  /** Headers that pin a call to a microversion. */
  readonly pin: (microversion: string) => { readonly [name: string]: string };
  /** Which member of a cloud says its URL. */
  readonly said: "endpoint" | "compute" | "placement" | "image" | "network";
  readonly fix: string;
}

export const BAREMETAL: ServiceKind = {
  name: "baremetal",
  types: new Set(["baremetal", "bare-metal"]),
  version: /\/v1$/,
  pin: (microversion) => ({ "X-OpenStack-Ironic-API-Version": microversion }),
  said: "endpoint",
  fix: "Give --ironic-url.",
};

/** @source Nova's API guide, Microversions: the older header is the only one before 2.27 */
export const COMPUTE: ServiceKind = {
  name: "compute",
  types: new Set(["compute"]),
  // What stands there as /v2 knows no microversions; a project may follow.
  version: /(?:\/v2(?:\.[01])?(\/[^/]+)?)?$/,
  spoken: "/v2.1$1",
  pin: (microversion) => ({
    "X-OpenStack-Nova-API-Version": microversion,
    "OpenStack-API-Version": `compute ${microversion}`,
  }),
  said: "compute",
  fix: "Give compute_endpoint_override in clouds.yaml, or OS_COMPUTE_ENDPOINT_OVERRIDE.",
};

/** Inventories are what they were since the first microversion, which is what is spoken without a pin. */
export const PLACEMENT: ServiceKind = {
  name: "placement",
  types: new Set(["placement"]),
  version: /(?!)/,
  pin: (microversion) => ({ "OpenStack-API-Version": `placement ${microversion}` }),
  said: "placement",
  fix: "Give placement_endpoint_override in clouds.yaml, or OS_PLACEMENT_ENDPOINT_OVERRIDE.",
};

export const IMAGE: ServiceKind = {
  name: "image",
  types: new Set(["image"]),
  version: /\/v[12](\.\d)?$/,
  pin: () => ({}),
  said: "image",
  fix: "Give image_endpoint_override in clouds.yaml, or OS_IMAGE_ENDPOINT_OVERRIDE.",
};

export const NETWORK: ServiceKind = {
  name: "network",
  types: new Set(["network"]),
  version: /\/v[12](\.\d)?$/,
  pin: () => ({}),
  said: "network",
  fix: "Give network_endpoint_override in clouds.yaml, or OS_NETWORK_ENDPOINT_OVERRIDE.",
};

/** Which is spoken with as v3 wants it, and whose older address stands next to that one. */
export const KEYSTONE: Pick<ServiceKind, "version"> = { version: /\/v(3|2\.0)$/ };
