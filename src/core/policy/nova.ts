import { type Expression, parseRule } from "./expression.ts";

/** What is asked: the list of nodes, or one of them. */
export const ACTIONS = ["list", "show"] as const;
export type Action = (typeof ACTIONS)[number];

/** The rule by which Nova says who is_admin. */
export const ADMIN = "context_is_admin";

/** The name that Nova asks today, and those that older releases asked; the first that a file has is in force. */
export function namesOf(action: Action): readonly [string, ...string[]] {
  return [
    `os_compute_api:os-baremetal-nodes:${action}`,
    // Kilo through Ussuri; deprecated since.
    "os_compute_api:os-baremetal-nodes",
    // The v2 API of Juno through Mitaka.
    "compute_extension:baremetal_nodes",
  ];
}

const OWNER = "is_admin:True or project_id:%(project_id)s";

/**
 * Rules that Nova has in its code since Newton and that a file may name without defining them. Where a
 * release deprecates an older rule, Nova admits whom either of both admits, unless enforce_new_defaults is set.
 *
 * @source nova newton-eol through stable/2026.1, nova/policies/base.py, baremetal_nodes.py; in the comment, where a name is of some releases alone
 */
const IN_CODE: ReadonlyMap<string, string> = new Map([
  ...ACTIONS.map((action): [string, string] => [
    namesOf(action)[0],
    `rule:${ADMIN} or rule:admin_api`,
  ]),
  ["os_compute_api:os-baremetal-nodes", "rule:admin_api"], // Newton through Ussuri
  ["os_compute_api:os-baremetal-nodes:discoverable", "@"], // Newton, Ocata
  [ADMIN, "role:admin"],
  ["admin_or_owner", OWNER],
  ["admin_api", "is_admin:True"],
  ["network:attach_external_network", "is_admin:True"],
  // Ussuri through Xena
  ["system_admin_api", "role:admin and system_scope:all or is_admin:True"],
  ["system_reader_api", "role:reader and system_scope:all or is_admin:True"],
  ["system_admin_or_owner", `rule:system_admin_api or rule:project_member_api or ${OWNER}`],
  ["system_or_project_reader", `rule:system_reader_api or rule:project_reader_api or ${OWNER}`],
  // Ussuri through Yoga
  ["project_admin_api", "role:admin and project_id:%(project_id)s or is_admin:True"],
  // Ussuri and later
  ["project_member_api", `role:member and project_id:%(project_id)s or ${OWNER}`],
  ["project_reader_api", `role:reader and project_id:%(project_id)s or ${OWNER}`],
  // Yoga and later
  ["project_reader_or_admin", `rule:project_reader_api or rule:${ADMIN} or ${OWNER}`],
  ["project_member_or_admin", `rule:project_member_api or rule:${ADMIN} or ${OWNER}`],
  // 2025.1 and later
  ["project_manager_api", "role:manager and project_id:%(project_id)s or is_admin:True"],
  ["project_manager_or_admin", `rule:project_manager_api or rule:${ADMIN} or is_admin:True`],
  ["service_api", "role:service or is_admin:True"],
  ["service_or_admin", `rule:service_api or rule:${ADMIN} or is_admin:True`],
]);

/** A rule of Nova's code, or undefined where no release has that name. */
export function inCode(name: string): Expression | undefined {
  const text = IN_CODE.get(name);
  return text === undefined ? undefined : parseRule(text, (why) => new Error(why));
}
