import type { CloudService } from "./cloud.ts";

export interface ServiceKind {
  readonly name: CloudService;
  readonly types: ReadonlySet<string>;
  /** The version at the end of the URL, replaced by `spoken`, or removed if paths include it. */
  readonly version: RegExp;
  readonly spoken?: string;
  /** Headers for a microversion. */
  readonly pin: (microversion: string) => { readonly [name: string]: string };
  /** The cloud's setting with the URL. */
  readonly said: "endpoint" | "compute" | "placement" | "image" | "network";
  readonly fix: string;
}

export const BAREMETAL: ServiceKind = {
  name: "baremetal",
  types: new Set(["baremetal", "bare-metal"]),
  version: /\/v1$/,
  pin: (microversion) => ({ "X-OpenStack-Ironic-API-Version": microversion }),
  said: "endpoint",
  fix: "Pass --ironic-url.",
};

/** @source Nova's API guide, Microversions: the older header is the only one before 2.27 */
export const COMPUTE: ServiceKind = {
  name: "compute",
  types: new Set(["compute"]),
  // /v2 has no microversions. A project may follow.
  version: /(?:\/v2(?:\.[01])?(\/[^/]+)?)?$/,
  spoken: "/v2.1$1",
  pin: (microversion) => ({
    "X-OpenStack-Nova-API-Version": microversion,
    "OpenStack-API-Version": `compute ${microversion}`,
  }),
  said: "compute",
  fix: "Set compute_endpoint_override in clouds.yaml, or OS_COMPUTE_ENDPOINT_OVERRIDE.",
};

/** Inventories are the same since the first microversion, which applies without a header. */
export const PLACEMENT: ServiceKind = {
  name: "placement",
  types: new Set(["placement"]),
  version: /(?!)/,
  pin: (microversion) => ({ "OpenStack-API-Version": `placement ${microversion}` }),
  said: "placement",
  fix: "Set placement_endpoint_override in clouds.yaml, or OS_PLACEMENT_ENDPOINT_OVERRIDE.",
};

export const IMAGE: ServiceKind = {
  name: "image",
  types: new Set(["image"]),
  version: /\/v[12](\.\d)?$/,
  pin: () => ({}),
  said: "image",
  fix: "Set image_endpoint_override in clouds.yaml, or OS_IMAGE_ENDPOINT_OVERRIDE.",
};

export const NETWORK: ServiceKind = {
  name: "network",
  types: new Set(["network"]),
  version: /\/v[12](\.\d)?$/,
  pin: () => ({}),
  said: "network",
  fix: "Set network_endpoint_override in clouds.yaml, or OS_NETWORK_ENDPOINT_OVERRIDE.",
};

/** Calls use v3. Its URL may end in the older version. */
export const KEYSTONE: Pick<ServiceKind, "version"> = { version: /\/v(3|2\.0)$/ };
