import type { Settings } from "./cloud.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Older names of some variables, as keystoneauth and openstacksdk take them still. */
const ALIASES: { readonly [name: string]: string } = {
  tenant_name: "project_name",
  tenant_id: "project_id",
  endpoint_type: "interface",
};

/** Settings of `OS_*`: `OS_AUTH_URL` is `auth_url`. Empty ones are not there. */
export function environmentSettings(environment: Environment): Settings {
  const found = new Map<string, string>();
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith("OS_") || value === undefined || value === "") continue;
    const name = variable.slice(3).toLowerCase();
    const modern = ALIASES[name];
    if (modern === undefined) found.set(name, value);
    else if (!found.has(modern)) found.set(modern, value);
  }
  return found;
}
