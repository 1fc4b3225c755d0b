import type { CloudService } from "./cloud.ts";

export interface ServiceKind {
  readonly name: CloudService;
  readonly types: ReadonlySet<string>;
  /** The version at the end of the URL, replaced by `spoken`, or removed if paths include it. */
  readonly version: RegExp;
  readonly spoken?: string;
  /** Headers for a microversion. */
  readonly pin: (microversion: string) => { readonly [name: string]: string };
}

export const BAREMETAL: ServiceKind = {
  name: "baremetal",
  types: new Set(["baremetal", "bare-metal"]),
  version: /\/v1$/,
  pin: (microversion) => ({ "X-OpenStack-Ironic-API-Version": microversion }),
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
};

/** Inventories are the same since the first microversion, which applies without a header. */
export const PLACEMENT: ServiceKind = {
  name: "placement",
  types: new Set(["placement"]),
  version: /(?!)/,
  pin: (microversion) => ({ "OpenStack-API-Version": `placement ${microversion}` }),
};

export const IMAGE: ServiceKind = {
  name: "image",
  types: new Set(["image"]),
  version: /\/v[12](\.\d)?$/,
  pin: () => ({}),
};

export const NETWORK: ServiceKind = {
  name: "network",
  types: new Set(["network"]),
  version: /\/v[12](\.\d)?$/,
  pin: () => ({}),
};

/** Calls use v3. Its URL may end in the older version. */
export const KEYSTONE: Pick<ServiceKind, "version"> = { version: /\/v(3|2\.0)$/ };
