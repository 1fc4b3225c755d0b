/** Header fields by lower-case name, as in Node. */
export type HeaderFields = { readonly [name: string]: string | readonly string[] | undefined };

/** Complete, and within the listener's limits. */
export interface ServedRequest {
  readonly method: string;
  /** As sent, without the query. */
  readonly path: string;
  readonly fields: HeaderFields;
  readonly body: Buffer;
  /** `req-UUID`: id of this request in the log and in upstream calls. */
  readonly id: string;
  /** The caller's own id if it is valid, else `id`. */
  readonly globalId: string;
  /** Number of upstream calls, for the log. */
  readonly upstream: { calls: number };
  /** Whether the caller closed the connection or only its own side. Both look the same. */
  readonly isClosed: () => boolean;
}

/** Message if the caller disconnects before the first write of a change. */
export const CLOSED =
  "The connection was closed before the request was accepted. Nothing was changed. Keep the connection open until the answer arrives.";

/** A decoded part of a path. Null if the encoding is malformed. */
export function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** A response, complete or streamed. An error in the stream closes the connection. */
export interface Reply {
  readonly status: number;
  readonly fields: { readonly [name: string]: string | readonly string[] };
  readonly body: string | AsyncIterable<string>;
}

export interface TokenOwner {
  readonly user_id: string;
  readonly project_id: string | null;
  readonly roles: readonly string[];
  /** `all`, or null for a token without system scope. */
  readonly system_scope: string | null;
  readonly user_domain_id?: string;
  readonly project_domain_id?: string;
  /** For a domain-scoped token. */
  readonly domain_id?: string;
  /** Absent if Keystone omits it. */
  readonly is_admin_project?: boolean;
}

/** Error names of an OpenStack service. @source nova, api/openstack/wsgi.py, Fault._fault_names */
const FAULTS: { readonly [status: number]: string } = {
  400: "badRequest",
  401: "unauthorized",
  403: "forbidden",
  404: "itemNotFound",
  413: "overLimit",
  503: "serviceUnavailable",
};

const JSON_TYPE = "application/json";
const JSON_BODY = { "Content-Type": JSON_TYPE } as const;

/** Why a body is refused: its Content-Type is not JSON, which is the default. */
export function mediaFault({ "content-type": type = JSON_TYPE }: HeaderFields): string | null {
  return /^application\/json\s*(;|$)/i.test(String(type))
    ? null
    : `The body is ${String(type).split(";")[0]}, but must be ${JSON_TYPE}`;
}

export function jsonReply(status: number, body: unknown, fields: Reply["fields"] = {}): Reply {
  return { status, fields: { ...JSON_BODY, ...fields }, body: JSON.stringify(body) };
}

/** A list of objects, sent page by page. */
export function listReply(
  name: string,
  pages: AsyncIterable<readonly object[]>,
  fields: Reply["fields"] = {},
): Reply {
  async function* body(): AsyncGenerator<string> {
    let before = `{"${name}": [`;
    for await (const page of pages) {
      if (page.length === 0) continue;
      yield before + page.map((one) => JSON.stringify(one)).join(", ");
      before = ", ";
    }
    yield before === ", " ? "]}" : `${before}]}`;
  }
  return { status: 200, fields: { ...JSON_BODY, ...fields }, body: body() };
}

export function faultReply(status: number, message: string, fields: Reply["fields"] = {}): Reply {
  return jsonReply(
    status,
    { [FAULTS[status] ?? "computeFault"]: { code: status, message } },
    fields,
  );
}

/** An error in Ironic's format: JSON in JSON. @source facts/systems.md B2 */
export function ironicFault(
  status: number,
  faultstring: string,
  fields: Reply["fields"] = {},
): Reply {
  const faultcode = status < 500 ? "Client" : "Server";
  const message = JSON.stringify({ faultcode, faultstring, debuginfo: null });
  return jsonReply(status, { error_message: message }, fields);
}

/** @source keystonemiddleware, auth_token: webob's HTTPUnauthorized as JSON */
export function unauthorized(
  uri: string,
  message = "The request you have made requires authentication.",
  fields: Reply["fields"] = {},
): Reply {
  const error = { code: 401, title: "Unauthorized", message };
  return jsonReply(401, { error }, { ...fields, "WWW-Authenticate": `Keystone uri="${uri}"` });
}
