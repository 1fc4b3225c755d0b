import type { RequestedRule } from "../../serving/rules/policy-read.ts";

const ROOT = "os_compute_api:os-baremetal-nodes";

/**
 * The policy rules that Nova checks for this API. Comments name the releases of a rule.
 *
 * @source nova juno through stable/2026.1, policies/baremetal_nodes.py
 */
export const REQUESTED = { list: requestedRule("list"), show: requestedRule("show") } as const;

function requestedRule(action: "list" | "show"): RequestedRule {
  const today = `${ROOT}:${action}`;
  return {
    names: [
      today,
      // Kilo through Ussuri, then deprecated.
      ROOT,
      // The v2 API, Juno through Mitaka.
      "compute_extension:baremetal_nodes",
    ],
    inCode: {
      [today]: "rule:context_is_admin or rule:admin_api",
      [ROOT]: "rule:admin_api", // Newton through Ussuri
      [`${ROOT}:discoverable`]: "@", // Newton, Ocata
    },
  };
}
