export interface Api {
  readonly url: string;
  /** Of `admin`, with http_basic; null with noauth. */
  readonly password: string | null;
  /** Of Keystone, where that says who may. */
  readonly token?: string | null;
}

export interface Answer {
  readonly status: number;
  /** The body, read as JSON when it is; null when there is none. */
  readonly body: unknown;
}

/** The newest microversion of 2023.1. */
const MICROVERSION = "1.82";

/** Calls of the tests' own, without the tool's help. Errors of the service are answers. */
export function apiOf({ url, password, token = null }: Api) {
  const login = password === null ? {} : { Authorization: `Basic ${btoa(`admin:${password}`)}` };
  return async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        "Content-Type": "application/json",
        "X-OpenStack-Ironic-API-Version": MICROVERSION,
        ...login,
        ...(token !== null && { "X-Auth-Token": token }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: parsed(text) };
  };
}

function parsed(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
