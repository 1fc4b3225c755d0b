import { isObject } from "../../lib/json.ts";
import type { CloudService, Sought } from "./cloud.ts";

export interface ServiceKind {
  readonly name: CloudService;
  readonly types: ReadonlySet<string>;
  /** The version at the end of the URL, replaced by `replacement`, or removed if paths include it. */
  readonly version: RegExp;
  readonly replacement?: string;
  readonly pin: (microversion: string) => { readonly [name: string]: string };
  /** How to specify its URL. */
  readonly fix: string;
}

function kind(
  name: CloudService,
  version: RegExp,
  more: Partial<Omit<ServiceKind, "name" | "version">> = {},
): ServiceKind {
  const variable = `OS_${name.toUpperCase()}_ENDPOINT_OVERRIDE`;
  const fix = `Set ${name}_endpoint_override in clouds.yaml, or ${variable}.`;
  return { name, types: new Set([name]), version, pin: () => ({}), fix, ...more };
}

export const BAREMETAL = kind("baremetal", /\/v1$/, {
  types: new Set(["baremetal", "bare-metal"]),
  pin: (microversion) => ({ "X-OpenStack-Ironic-API-Version": microversion }),
  fix: "Pass --ironic-url.",
});

/**
 * /v2 has no microversions. A project may follow.
 *
 * @source Nova's API guide, Microversions: the older header is the only one before 2.27
 */
export const COMPUTE = kind("compute", /(?:\/v2(?:\.[01])?(\/[^/]+)?)?$/, {
  replacement: "/v2.1$1",
  pin: (microversion) => ({
    "X-OpenStack-Nova-API-Version": microversion,
    "OpenStack-API-Version": `compute ${microversion}`,
  }),
});

/** Inventories are the same since the first microversion, which applies without a header. */
export const PLACEMENT = kind("placement", /(?!)/, {
  pin: (microversion) => ({ "OpenStack-API-Version": `placement ${microversion}` }),
});

export const IMAGE = kind("image", /\/v[12](\.\d)?$/);

export const NETWORK = kind("network", /\/v[12](\.\d)?$/);

/** Calls use v3. Its URL may end in the older version. */
export const KEYSTONE: Pick<ServiceKind, "version"> = { version: /\/v(3|2\.0)$/ };

/** @param body Keystone's response with the catalog */
export function endpointOf(
  body: unknown,
  sought: Sought,
  types: ReadonlySet<string>,
): string | null {
  const token = isObject(body) && isObject(body.token) ? body.token : {};
  const services = Array.isArray(token.catalog) ? (token.catalog as readonly unknown[]) : [];
  for (const service of services) {
    if (!isObject(service) || !types.has(String(service.type))) continue;
    const endpoints = Array.isArray(service.endpoints) ? (service.endpoints as unknown[]) : [];
    for (const endpoint of endpoints)
      if (
        isObject(endpoint) &&
        endpoint.interface === sought.interface &&
        (sought.region === null || (endpoint.region_id ?? endpoint.region) === sought.region) &&
        typeof endpoint.url === "string"
      )
        return endpoint.url;
  }
  return null;
}
