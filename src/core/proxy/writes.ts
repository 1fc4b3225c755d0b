import { isObject } from "../../model/json.ts";
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
 * @source nova@26.2.2 api/openstack/compute/baremetal_nodes.py, api/openstack/wsgi.py action_peek
 */
export function novaRefusal(
  wanted: Extract<NodeCommand["do"], "create" | "delete" | "action">,
  body: string,
): string {
  if (wanted !== "action") return unsupported(INSTEAD[wanted]);
  const named = actionOf(body);
  if (named === null) return "Malformed request body";
  return named === "add_interface" || named === "remove_interface"
    ? unsupported(INSTEAD[named])
    : `There is no such action: ${named}`;
}

function unsupported(command: string): string {
  return `Command Not supported. Please use Ironic command ${command} to perform this action.`;
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
