import { MigrationError } from "../../model/error.ts";
import { isObject, parsedJson } from "../../model/json.ts";
import type { Auth, Cloud } from "./cloud.ts";
import { faultOf } from "./fault.ts";
import type { Http } from "./http.ts";
import { askUntilAnswered, isPassing } from "./passing.ts";

export interface Token {
  /** Of the service asked for, as catalog, interface and region have it; null when none is there. */
  readonly endpoint: string | null;
  readonly text: () => string;
}

/**
 * A token of Keystone's v3, with a password or an application credential.
 *
 * @param types names of the service whose endpoint is wanted
 * @throws MigrationError N2I-E210 when Keystone does not answer, N2I-E211 when it refuses
 */
export async function newToken(
  http: Http,
  { url, question, secret }: Extract<Auth, { readonly kind: "keystone" }>,
  cloud: Cloud,
  types: ReadonlySet<string>,
): Promise<Token> {
  const base = url.replace(/\/+$/, "").replace(/\/v3$/, "");
  const answer = await askUntilAnswered(() =>
    http.send({
      method: "POST",
      url: `${base}/v3/auth/tokens`,
      headers: {},
      body: { auth: question() },
    }),
  );
  if ("why" in answer)
    throw new MigrationError("N2I-E210", `Keystone at ${base} does not answer: ${answer.why}`);
  const fault = (): string => faultOf(answer.text, [secret()]);
  if (isPassing(answer))
    throw new MigrationError(
      "N2I-E210",
      `Keystone at ${base} does not answer: ${`${answer.status} ${fault()}`.trim()}`,
    );
  if (answer.status === 401 || answer.status === 403)
    throw new MigrationError("N2I-E211", `Keystone at ${base} refuses the login: ${fault()}`);
  const token = answer.headers["x-subject-token"];
  if (answer.status !== 201 || typeof token !== "string")
    throw new MigrationError(
      "N2I-E212",
      `Keystone at ${base} answers ${answer.status}: ${fault() || "no token"}`,
    );
  const body = parsedJson(answer.text);
  return { endpoint: endpointOf(body, cloud, types), text: () => token };
}

function endpointOf(body: unknown, cloud: Cloud, types: ReadonlySet<string>): string | null {
  const token = isObject(body) && isObject(body.token) ? body.token : {};
  const services = Array.isArray(token.catalog) ? (token.catalog as readonly unknown[]) : [];
  for (const service of services) {
    if (!isObject(service) || !types.has(String(service.type))) continue;
    const endpoints = Array.isArray(service.endpoints) ? (service.endpoints as unknown[]) : [];
    for (const endpoint of endpoints)
      if (
        isObject(endpoint) &&
        endpoint.interface === cloud.interface &&
        (cloud.region === null || (endpoint.region_id ?? endpoint.region) === cloud.region) &&
        typeof endpoint.url === "string"
      )
        return endpoint.url;
  }
  return null;
}
