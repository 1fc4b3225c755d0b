import { isDeepStrictEqual } from "node:util";
import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import { SERVICES, type Settings } from "./cloud.ts";
import { pluginOf } from "./settings.ts";

/** Older names of settings. @source keystoneauth: deprecated options; openstacksdk, config/loader.py */
const OLDER = new Map([
  ["auth_plugin", "auth_type"],
  ["tenant_id", "project_id"],
  ["tenant_name", "project_name"],
  ["user_name", "username"],
]);

const OWN_ENDPOINT = new RegExp(`^(${SERVICES.join("|")})_endpoint$`);

/** Supported settings. */
const READ = new Set([
  ...["auth_type", "auth_url", "username", "user_id", "password", "system_scope"],
  ...["user_domain", "project_domain", "project", "domain", "default_domain"].flatMap((part) => [
    `${part}_id`,
    `${part}_name`,
  ]),
  ...["default_domain", "interface", "region_name", "endpoint", "endpoint_override"],
  ...["id", "name", "secret"].map((part) => `application_credential_${part}`),
  ...["cacert", "cert", "key", "insecure", "verify"],
  ...SERVICES.flatMap((service) =>
    ["endpoint_override", "interface", "region_name"].map((part) => `${service}_${part}`),
  ),
]);

/** Unsupported settings that would change the endpoint or the login. */
const REFUSED = new Set([
  "trust_id",
  ...SERVICES.flatMap((service) => [`${service}_service_name`, `${service}_service_type`]),
]);

/** The name that openstacksdk gives a setting today. */
function modern(name: string): string {
  const plain = name
    .replaceAll("-", "_")
    .replace(/^bare_metal_/, "baremetal_")
    .replace(/endpoint_type$/, "interface")
    .replace(OWN_ENDPOINT, "$1_endpoint_override");
  return OLDER.get(plain) ?? plain;
}

/**
 * The settings by the names that openstacksdk uses today.
 *
 * @throws MigrationError N2I-E106 if two spellings have different values. It contains no value
 */
export function spelled(said: JsonObject, from: string): JsonObject {
  const found = new Map<string, { readonly name: string; readonly value: Json }>();
  for (const [name, given] of Object.entries(said)) {
    const now = modern(name);
    if (given === null || given === "") continue;
    // Older clients want publicURL.
    const isFace = now.endsWith("interface") && typeof given === "string";
    const value = isFace
      ? given.replace(/URL$/, "")
      : isObject(given)
        ? spelled(given, from)
        : given;
    const { name: other, value: before } = found.get(now) ?? { name, value };
    if (READ.has(now) && !isDeepStrictEqual(before, value))
      throw refuse(from, `${other} and ${name} differ`, ONE);
    found.set(now, { name, value });
  }
  return Object.fromEntries([...found].map(([now, { value }]) => [now, value]));
}

/**
 * The settings that this tool reads, by the names that openstacksdk uses today.
 *
 * @param said with the login options in `auth`. An unknown login option is an error
 * @throws MigrationError N2I-E106 names an unsupported setting that would change the endpoint or the login. It contains no value
 */
export function settingsOf({ auth, ...said }: JsonObject, from: string): Settings {
  const login = isObject(auth) ? auth : {};
  const found = new Map<string, string>();
  for (const [name, value] of [...Object.entries(said), ...Object.entries(login)]) {
    if (REFUSED.has(name)) throw refuse(from, `${name} is not supported`, UNREAD);
    if (!READ.has(name)) continue;
    if (typeof value === "object") throw refuse(from, `${name} is not one text`, ONE);
    const text = String(value);
    if ((found.get(name) ?? text) !== text)
      throw refuse(from, `${name} differs inside and outside of auth`, ONE);
    found.set(name, text);
  }
  // For an unsupported plugin, the caller reports the plugin instead of its options.
  const unknown = Object.keys(login).find((name) => !READ.has(name));
  if (unknown !== undefined && pluginOf(found.get("auth_type") ?? "none") !== undefined)
    throw refuse(from, `auth has ${unknown}, which is not supported`, UNREAD);
  return found;
}

const ONE = "Write it once.";
const UNREAD = "Leave it out, or write the login and the endpoints without it.";

function refuse(from: string, why: string, fix: string): MigrationError {
  return new MigrationError("N2I-E106", `${from}: ${why}`, { fix });
}
