import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import { ENVIRONMENT, pluginOf, SERVICES, type Settings } from "./cloud.ts";

const require = createRequire(import.meta.url);

type Environment = Readonly<Record<string, string | undefined>>;

const SUFFIXES = ["yaml", "yml", "json"] as const;

/**
 * Searches like openstacksdk: variable, current folder, user's folder, /etc/openstack.
 *
 * @throws MigrationError N2I-E106 if no file has the cloud or a file is invalid; quotes no content
 * @source openstacksdk, openstack/config/loader.py
 */
export function cloudSettings(name: string, environment: Environment, here: string) {
  const path = find("clouds", environment.OS_CLIENT_CONFIG_FILE, environment, here);
  if (path === null)
    throw refuse(
      `cloud ${JSON.stringify(name)}`,
      "there is no clouds.yaml",
      `Put it into ${folders(environment, here).join(", ")}, or set its path in OS_CLIENT_CONFIG_FILE.`,
    );
  const secure = find("secure", environment.OS_CLIENT_SECURE_FILE, environment, here);
  const all = [path, ...(secure === null ? [] : [secure])].map((file) => {
    const { clouds } = document(file);
    return isObject(clouds) ? clouds : {};
  });
  const definitions = all.flatMap((clouds): readonly JsonObject[] => {
    const cloud = Object.hasOwn(clouds, name) ? clouds[name] : undefined;
    return isObject(cloud) ? [cloud] : [];
  });
  if (definitions.length === 0)
    throw new MigrationError(
      "N2I-E106",
      `${path} has no cloud ${JSON.stringify(name)}; it has ${[...new Set(all.flatMap(Object.keys))].join(", ") || "none"}`,
    );
  const from = `cloud ${JSON.stringify(name)} of ${path}`;
  const cloud = inRegion(
    definitions.map((each) => spelled(each, from)).reduce(merge),
    environment.OS_REGION_NAME || null,
    from,
  );
  if (cloud.profile !== undefined || cloud.cloud !== undefined)
    throw refuse(
      path,
      `cloud ${JSON.stringify(name)} uses a vendor profile, which is not supported`,
      "Set auth_url and the other values in the cloud itself.",
    );
  return { settings: settingsOf(cloud, from), from };
}

function folders(environment: Environment, here: string): readonly string[] {
  const config = environment.XDG_CONFIG_HOME || join(environment.HOME ?? homedir(), ".config");
  return [here, join(config, "openstack"), "/etc/openstack"];
}

function find(
  name: string,
  configured: string | undefined,
  environment: Environment,
  here: string,
): string | null {
  if (configured) return configured;
  const paths = folders(environment, here).flatMap((folder) =>
    SUFFIXES.map((suffix) => join(folder, `${name}.${suffix}`)),
  );
  return paths.find((path) => existsSync(path)) ?? null;
}

/** Messages contain only the file's name, because any line may be a password. */
function document(path: string): JsonObject {
  const refuse = (reason: string): MigrationError =>
    new MigrationError("N2I-E106", `${path} ${reason}`, { fix: "Correct the file." });
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    throw refuse("cannot be read");
  }
  const value = yamlOf(text);
  if (!isObject(value)) throw refuse("is not a YAML mapping");
  return value;
}

/** Null for invalid YAML or endless aliases. */
function yamlOf(text: string): unknown {
  try {
    // Loaded on demand.
    const { parseDocument, visit } = require("yaml") as typeof import("yaml");
    const document = parseDocument(text, { logLevel: "silent" });
    // A numeric password is a text with its leading zeros.
    visit(document, {
      Scalar(_, scalar) {
        if (typeof scalar.value === "number" && scalar.source) scalar.value = scalar.source;
      },
    });
    return document.errors.length > 0 ? null : document.toJS({ maxAliasCount: 100 });
  } catch {
    return null;
  }
}

function merge(base: JsonObject, more: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...base };
  for (const [key, value] of Object.entries(more)) {
    const under = merged[key];
    merged[key] = isObject(under) && isObject(value) ? merge(under, value) : value;
  }
  return merged;
}

/**
 * The settings for the requested region, or the first.
 *
 * @throws MigrationError N2I-E106 if the cloud has regions but not the wanted one
 * @source openstacksdk, config/loader.py; the openstack client reads OS_REGION_NAME for a named cloud
 */
function inRegion(
  { regions, ...cloud }: JsonObject,
  requested: string | null,
  from: string,
): JsonObject {
  const configured = regions ?? cloud.region_name ?? requested ?? [];
  const listed = typeof configured === "string" ? configured.split(",") : configured;
  const all = (Array.isArray(listed) ? (listed as readonly Json[]) : [listed]).map((one) =>
    isObject(one) ? one : { name: one },
  );
  const region = all.find(({ name }) => requested === null || name === requested);
  if (region === undefined && all.length > 0)
    throw refuse(
      from,
      `it has no region ${requested}; it has ${all.map(({ name }) => name).join(", ")}`,
      "Set OS_REGION_NAME to one of them, or unset it.",
    );
  if (region === undefined) return cloud;
  const { name = null, values } = region;
  const settings = isObject(values) ? spelled(values, from) : {};
  return merge({ ...cloud, region_name: name }, settings);
}

/** Reads `OS_*`: `OS_AUTH_URL` is `auth_url`. @throws MigrationError N2I-E106, as settingsOf */
export function environmentSettings(environment: Environment): Settings {
  const entries = Object.entries(environment).flatMap(([variable, value]) =>
    variable.startsWith("OS_") && value !== undefined
      ? [[variable.slice(3).toLowerCase(), value] as const]
      : [],
  );
  return settingsOf(spelled(Object.fromEntries(entries), ENVIRONMENT), ENVIRONMENT);
}

/** Older names of settings. @source keystoneauth: deprecated options; openstacksdk, config/loader.py */
const OLDER = new Map([
  ["auth_plugin", "auth_type"],
  ["tenant_id", "project_id"],
  ["tenant_name", "project_name"],
  ["user_name", "username"],
]);

const ENDPOINT = new RegExp(`^(${SERVICES.join("|")})_endpoint$`);

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

/** openstacksdk's current name. */
function modern(name: string): string {
  const plain = name
    .replaceAll("-", "_")
    .replace(/^bare_metal_/, "baremetal_")
    .replace(/endpoint_type$/, "interface")
    .replace(ENDPOINT, "$1_endpoint_override");
  return OLDER.get(plain) ?? plain;
}

/** @throws MigrationError N2I-E106 if two spellings have different values. It contains no value */
function spelled(settings: JsonObject, from: string): JsonObject {
  const found = new Map<string, { readonly name: string; readonly value: Json }>();
  for (const [name, setting] of Object.entries(settings)) {
    const now = modern(name);
    if (setting === null || setting === "") continue;
    // Older clients use publicURL.
    const isFace = now.endsWith("interface") && typeof setting === "string";
    const value = isFace
      ? setting.replace(/URL$/, "")
      : isObject(setting)
        ? spelled(setting, from)
        : setting;
    const { name: other, value: before } = found.get(now) ?? { name, value };
    if (READ.has(now) && !isDeepStrictEqual(before, value))
      throw refuse(from, `${other} and ${name} differ`, ONE);
    found.set(now, { name, value });
  }
  return Object.fromEntries([...found].map(([now, { value }]) => [now, value]));
}

/**
 * @param settings with login options in `auth`, where unknown ones are errors
 * @throws MigrationError N2I-E106 for an unsupported setting that affects endpoint or login;
 *   contains no value
 */
function settingsOf({ auth, ...settings }: JsonObject, from: string): Settings {
  const login = isObject(auth) ? auth : {};
  const found = new Map<string, string>();
  for (const [name, value] of [...Object.entries(settings), ...Object.entries(login)]) {
    if (REFUSED.has(name)) throw refuse(from, `${name} is not supported`, UNREAD);
    if (!READ.has(name)) continue;
    if (typeof value === "object") throw refuse(from, `${name} is not a single string`, ONE);
    const text = String(value);
    if ((found.get(name) ?? text) !== text)
      throw refuse(from, `${name} differs inside and outside of auth`, ONE);
    found.set(name, text);
  }
  // For an unsupported plugin, the caller reports the plugin instead.
  const unknown = Object.keys(login).find((name) => !READ.has(name));
  if (unknown !== undefined && pluginOf(found.get("auth_type") ?? "none") !== undefined)
    throw refuse(from, `auth has ${unknown}, which is not supported`, UNREAD);
  return found;
}

const ONE = "Specify it only once.";
const UNREAD = "Omit it, or specify the credentials and the endpoints without it.";

function refuse(from: string, reason: string, fix: string): MigrationError {
  return new MigrationError("N2I-E106", `${from}: ${reason}`, { fix });
}
