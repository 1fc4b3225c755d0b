import { isObject } from "../../lib/json.ts";
import type { NodeCommand } from "./route.ts";

/** Commands of Ironic that Nova names where it refuses its own. */
const INSTEAD = {
  create: "node-create",
  delete: "node-delete",
  add_interface: "port-create",
  remove_interface: "port-delete",
} as const;

/**
 * What Nova itself says to a command that changes something, which it answers with 400.
 *
 * @returns `unread`: it says so before it looks at project and version
 * @source nova@26.2.2 api/openstack/compute/baremetal_nodes.py, api/openstack/wsgi.py action_peek, _process_stack
 */
export function novaRefusal(
  wanted: Extract<NodeCommand["do"], "create" | "delete" | "action">,
  body: string,
): { readonly unread: boolean; readonly message: string } {
  if (wanted !== "action") return unsupported(INSTEAD[wanted]);
  const named = actionOf(body);
  if (named === null) return { unread: true, message: "Malformed request body" };
  return named === "add_interface" || named === "remove_interface"
    ? unsupported(INSTEAD[named])
    : { unread: true, message: `There is no such action: ${named}` };
}

function unsupported(command: string): ReturnType<typeof novaRefusal> {
  const message = `Command Not supported. Please use Ironic command ${command} to perform this action.`;
  return { unread: false, message };
}

/** The one key of the body. */
function actionOf(body: string): string | null {
  try {
    const said: unknown = JSON.parse(body);
    const [name, ...others] = isObject(said) ? Object.keys(said) : [];
    return others.length > 0 ? null : (name ?? null);
  } catch {
    return null;
  }
}
