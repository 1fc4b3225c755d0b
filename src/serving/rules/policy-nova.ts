import { type Expression, parseRule } from "./policy-expression.ts";

/** The rule that decides is_admin in Nova. */
export const ADMIN = "context_is_admin";

const OWNER = "is_admin:True or project_id:%(project_id)s";

/**
 * Rules in Nova's code since Newton. The text of a deprecated rule includes its replacement,
 * because Nova accepts either unless enforce_new_defaults is set.
 *
 * @source nova newton-eol through stable/2026.1, nova/policies/base.py; comments name the releases of a rule
 */
const IN_CODE: ReadonlyMap<string, string> = new Map([
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

/** @param own rules in the code of the service @returns undefined if no release has that name */
export function inCode(
  name: string,
  own: { readonly [name: string]: string },
): Expression | undefined {
  const text = Object.hasOwn(own, name) ? own[name] : IN_CODE.get(name);
  return text === undefined ? undefined : parseRule(text, (why) => new Error(why));
}
