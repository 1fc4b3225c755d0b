import type { AskedRule } from "../../serving/rules/policy-read.ts";

const ROOT = "os_compute_api:os-baremetal-nodes";

/**
 * What Nova asks its policy for the list of nodes, and for one of them.
 *
 * @source nova juno through stable/2026.1, policies/baremetal_nodes.py; in the comment, where a name is of some releases alone
 */
export const ASKED = { list: asked("list"), show: asked("show") } as const;

function asked(action: "list" | "show"): AskedRule {
  const today = `${ROOT}:${action}`;
  return {
    names: [
      today,
      // Kilo through Ussuri; deprecated since.
      ROOT,
      // The v2 API of Juno through Mitaka.
      "compute_extension:baremetal_nodes",
    ],
    inCode: {
      [today]: "rule:context_is_admin or rule:admin_api",
      [ROOT]: "rule:admin_api", // Newton through Ussuri
      [`${ROOT}:discoverable`]: "@", // Newton, Ocata
    },
  };
}
