/** Header fields by their names in lower case, as Node has them. */
export type HeaderFields = { readonly [name: string]: string | readonly string[] | undefined };

/** An HTTP request, read whole and within the listener's limits. */
export interface AskedFor {
  readonly method: string;
  /** As it was sent, without the query. */
  readonly path: string;
  readonly fields: HeaderFields;
  readonly body: Buffer;
  /** `req-UUID`: names this request in the log and to whoever is asked for it. */
  readonly id: string;
  /** The caller's own name for it where it has the form of one; else `id`. */
  readonly globalId: string;
  /** Calls made for it so far, for the log. */
  readonly upstream: { calls: number };
  /** Whether the caller closed the connection, or its own side of it: these cannot be distinguished. */
  readonly gone: () => boolean;
}

/** Of a request that would change something and whose caller is gone before the first write. */
export const GONE =
  "The connection was closed before the request was accepted. Nothing was changed. Keep the connection open until the answer arrives.";

/** What is answered: at once, or piece by piece. One that throws midway breaks the connection. */
export interface Reply {
  readonly status: number;
  readonly fields: { readonly [name: string]: string | readonly string[] };
  readonly body: string | AsyncIterable<string>;
}

/** Whose token it is, as Keystone says. */
export interface TokenOwner {
  readonly user_id: string;
  readonly project_id: string | null;
  readonly roles: readonly string[];
  /** `all`, or null: the token is not for the system. */
  readonly system_scope: string | null;
  readonly user_domain_id?: string;
  readonly project_domain_id?: string;
  /** Of a token for a domain. */
  readonly domain_id?: string;
  /** Absent: Keystone does not say. */
  readonly is_admin_project?: boolean;
}

/** Which error an OpenStack service names by which word. @source nova, api/openstack/wsgi.py, Fault._fault_names */
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

/** Why a body is not read: its Content-Type is not JSON's, which is the default. */
export function mediaFault({ "content-type": type = JSON_TYPE }: HeaderFields): string | null {
  return /^application\/json\s*(;|$)/i.test(String(type))
    ? null
    : `The body is ${String(type).split(";")[0]}, and has to be ${JSON_TYPE}`;
}

/** A body as JSON. */
export function jsonReply(status: number, body: unknown, fields: Reply["fields"] = {}): Reply {
  return { status, fields: { ...JSON_BODY, ...fields }, body: JSON.stringify(body) };
}

/** An error as Nova words it. */
export function faultReply(status: number, message: string, fields: Reply["fields"] = {}): Reply {
  return jsonReply(
    status,
    { [FAULTS[status] ?? "computeFault"]: { code: status, message } },
    fields,
  );
}

/** An error as Ironic words it: JSON in JSON. @source facts/systems.md B2 */
export function ironicFault(
  status: number,
  faultstring: string,
  fields: Reply["fields"] = {},
): Reply {
  const faultcode = status < 500 ? "Client" : "Server";
  const said = JSON.stringify({ faultcode, faultstring, debuginfo: null });
  return jsonReply(status, { error_message: said }, fields);
}

/** @param uri Keystone's */
export function unauthorized(
  uri: string,
  message = UNAUTHORIZED,
  fields: Reply["fields"] = {},
): Reply {
  const error = { code: 401, title: "Unauthorized", message };
  return jsonReply(401, { error }, { ...fields, "WWW-Authenticate": `Keystone uri="${uri}"` });
}

/** @source keystonemiddleware, auth_token: webob's HTTPUnauthorized as JSON */
const UNAUTHORIZED = "The request you have made requires authentication.";
