import { ADMIN, type CloudPlace } from "./config.ts";

export type ServiceType = "identity" | "compute" | "image";

/** Puts Nova and Glance into Keystone's catalog, as an operator does. */
export async function register({ ports, password }: Pick<CloudPlace, "ports" | "password">) {
  const url = `http://127.0.0.1:${ports.keystone}/v3`;
  const urls: { readonly [type in ServiceType]: string } = {
    identity: url,
    compute: `http://127.0.0.1:${ports.nova}/v2.1`,
    image: `http://127.0.0.1:${ports.glance}/v2`,
  };
  const token = await login(url, password);
  /** Asks a service as the operator would: `api("compute", "GET", "/flavors")`; text goes as bytes. */
  const api = async (type: ServiceType, method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${urls[type]}${path}`, {
      method,
      headers: {
        "X-Auth-Token": token,
        "Content-Type": typeof body === "string" ? "application/octet-stream" : "application/json",
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const read: unknown = text === "" ? null : JSON.parse(text);
    return { status: answer.status, body: read };
  };
  for (const [type, name] of [
    ["compute", "nova"],
    ["image", "glance"],
  ] as const) {
    const made = await api("identity", "POST", "/services", { service: { type, name } });
    // Keystone's answer of its own API.
    const { service } = made.body as { readonly service: { readonly id: string } };
    // Catalogs name Glance without its version.
    const endpoint = type === "image" ? `http://127.0.0.1:${ports.glance}` : urls[type];
    for (const kind of ["public", "internal", "admin"]) {
      const told = { service_id: service.id, interface: kind, url: endpoint };
      const put = await api("identity", "POST", "/endpoints", { endpoint: told });
      if (put.status !== 201) throw new Error(`Keystone: ${JSON.stringify(put.body)}`);
    }
  }
  const env: { readonly [name: string]: string } = {
    ...{ OS_AUTH_URL: url, OS_USERNAME: ADMIN, OS_PASSWORD: password, OS_PROJECT_NAME: ADMIN },
    ...{ OS_USER_DOMAIN_ID: "default", OS_PROJECT_DOMAIN_ID: "default" },
  };
  return { api, token, env };
}

/** A token in the operator's project, his own if nobody else is named, good for an hour. */
export async function login(url: string, password: string, name = ADMIN): Promise<string> {
  const domain = { id: "default" };
  const answer = await fetch(`${url}/auth/tokens`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      auth: {
        identity: { methods: ["password"], password: { user: { name, domain, password } } },
        scope: { project: { name: ADMIN, domain } },
      },
    }),
  });
  const token = answer.headers.get("x-subject-token");
  if (token === null) throw new Error(`Keystone gives no token: ${await answer.text()}`);
  return token;
}
