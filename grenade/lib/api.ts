import { login } from "../../test/lab/cloud/register.ts";
import type { Cloud } from "../../test/lab/cloud/start.ts";

/** Newest microversions of Zed and 2023.1 that a claim needs. */
const VERSIONS = {
  nova: { "OpenStack-API-Version": "compute 2.92" },
  ironic: { "X-OpenStack-Ironic-API-Version": "1.80" },
  placement: { "OpenStack-API-Version": "placement 1.39" },
  glance: {},
  neutron: {},
} as const;

/** A token is good for an hour. */
const FRESH_MS = 1_800_000;

export type ServiceName = keyof typeof VERSIONS;

/**
 * Asks a service as the operator would; errors of the service are thrown, 404 is null.
 *
 * @param version in place of ours: `compute 2.53`
 */
export type Asks = <T>(
  service: ServiceName,
  method: string,
  path: string,
  body?: unknown,
  version?: { readonly [header: string]: string },
) => Promise<T | null>;

export function asks(
  cloud: Cloud,
  urls: { readonly [service in "placement" | "neutron" | "ironic"]: string },
): Asks {
  const at: { readonly [service in ServiceName]: string } = {
    nova: `http://127.0.0.1:${cloud.ports.nova}/v2.1`,
    glance: `http://127.0.0.1:${cloud.ports.glance}/v2`,
    placement: urls.placement,
    neutron: `${urls.neutron}/v2.0`,
    ironic: `${urls.ironic}/v1`,
  };
  let token = { text: cloud.token, since: Date.now() };
  return async <T>(
    service: ServiceName,
    method: string,
    path: string,
    body?: unknown,
    version: { readonly [header: string]: string } = VERSIONS[service],
  ): Promise<T | null> => {
    if (Date.now() - token.since > FRESH_MS) {
      const { OS_AUTH_URL = "", OS_PASSWORD = "" } = cloud.env;
      token = { text: await login(OS_AUTH_URL, OS_PASSWORD), since: Date.now() };
    }
    const bytes = typeof body === "string";
    const answer = await fetch(`${at[service]}${path}`, {
      method,
      headers: {
        "X-Auth-Token": token.text,
        "Content-Type": bytes ? "application/octet-stream" : "application/json",
        ...version,
      },
      ...(body !== undefined && { body: bytes ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(`${service}: ${method} ${path}: ${answer.status} ${text}`);
    // The caller knows the service's own form.
    return text === "" ? null : (JSON.parse(text) as T);
  };
}
