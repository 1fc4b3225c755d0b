export interface NodeRoute {
  readonly version: "v2" | "v2.1";
  /** Null: the path has no project. */
  readonly project: string | null;
  readonly wanted: NodeCommand;
}

/** `nowhere`: Nova has no such route. */
export type NodeCommand =
  | { readonly do: "list" | "create" | "options" | "nowhere" }
  | { readonly do: "show" | "delete" | "action"; readonly id: string };

/** Paths that a load balancer may send to the proxy. The proxy parses the rest of the path. */
export const MOUNT = /^\/v2(?:\.1)?(?:\/[^/]+)?\/os-baremetal-nodes(?:\/|$)/;

const PATH =
  /^\/(?<version>v2|v2\.1)(?:\/(?<project>[^/]+))?\/os-baremetal-nodes(?:\/(?<id>[^/]+)(?<action>\/action)?)?$/;

/**
 * @param path as sent, without the query
 * @returns null if the path is not of this API
 * @source nova@2014.2 api/openstack/compute/contrib/baremetal_nodes.py; nova@26.2.2 routes.py
 */
export function locationOf(method: string, path: string): NodeRoute | null {
  if (!MOUNT.test(path)) return null;
  const { version, project, id, action } = PATH.exec(path)?.groups ?? {};
  const own = path.startsWith("/v2.1/") ? "v2.1" : "v2";
  if (version === undefined) return { version: own, project: null, wanted: { do: "nowhere" } };
  const wanted = nodeCommandOf(method, id, action !== undefined);
  const named = project === undefined ? null : (decoded(project) ?? project);
  return { version: own, project: named, wanted };
}

function nodeCommandOf(method: string, id: string | undefined, isAction: boolean): NodeCommand {
  const nowhere = { do: "nowhere" } as const;
  if (method === "OPTIONS") return { do: "options" };
  if (id === undefined)
    return { do: method === "GET" ? "list" : method === "POST" ? "create" : "nowhere" };
  const plain = decoded(id) ?? id;
  if (isAction) return method === "POST" ? { do: "action", id: plain } : nowhere;
  if (method === "GET") return { do: "show", id: plain };
  return method === "DELETE" ? { do: "delete", id: plain } : nowhere;
}

/** Undefined if the encoding is malformed. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
