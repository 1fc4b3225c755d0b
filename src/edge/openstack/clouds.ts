import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { MigrationError } from "../../model/error.ts";
import { isObject, type Json, type JsonObject } from "../../model/json.ts";
import type { Settings } from "./cloud.ts";

const require = createRequire(import.meta.url);

type Environment = Readonly<Record<string, string | undefined>>;

const SUFFIXES = ["yaml", "yml", "json"] as const;

/**
 * Settings of a cloud in clouds.yaml, with what secure.yaml adds to it; each file is looked for
 * where openstacksdk looks: OS_CLIENT_CONFIG_FILE, here, the user's folder, /etc/openstack.
 *
 * @throws MigrationError N2I-E106 when no file has the cloud, or one cannot be read; never quoting it
 * @source openstacksdk, openstack/config/loader.py
 */
export function cloudSettings(
  name: string,
  environment: Environment,
  here: string,
): { readonly settings: Settings; readonly from: string } {
  const path = find("clouds", environment.OS_CLIENT_CONFIG_FILE, environment, here);
  if (path === null)
    throw new MigrationError("N2I-E106", `cloud ${JSON.stringify(name)}: there is no clouds.yaml`, {
      fix: `Put it into ${folders(environment, here).join(", ")}, or name it in OS_CLIENT_CONFIG_FILE.`,
    });
  const secure = find("secure", environment.OS_CLIENT_SECURE_FILE, environment, here);
  const merged = merge(document(path), secure === null ? {} : document(secure));
  const clouds = isObject(merged.clouds) ? merged.clouds : {};
  const cloud = Object.hasOwn(clouds, name) ? clouds[name] : undefined;
  if (!isObject(cloud))
    throw new MigrationError(
      "N2I-E106",
      `${path} has no cloud ${JSON.stringify(name)}; it has ${Object.keys(clouds).join(", ") || "none"}`,
    );
  if (cloud.profile !== undefined || cloud.cloud !== undefined)
    throw new MigrationError(
      "N2I-E106",
      `${path}: cloud ${JSON.stringify(name)} rests on a vendor's profile, which is not read`,
      { fix: "Write auth_url and the rest into the cloud itself." },
    );
  return { settings: flat(cloud), from: `cloud ${JSON.stringify(name)} of ${path}` };
}

function folders(environment: Environment, here: string): readonly string[] {
  const config = environment.XDG_CONFIG_HOME || join(environment.HOME ?? homedir(), ".config");
  return [here, join(config, "openstack"), "/etc/openstack"];
}

function find(
  name: string,
  named: string | undefined,
  environment: Environment,
  here: string,
): string | null {
  if (named) return named;
  const places = folders(environment, here).flatMap((folder) =>
    SUFFIXES.map((suffix) => join(folder, `${name}.${suffix}`)),
  );
  return places.find((place) => existsSync(place)) ?? null;
}

/** What is wrong with a file is reported by its name alone: a line of it may be a password. */
function document(path: string): JsonObject {
  const refuse = (why: string): MigrationError =>
    new MigrationError("N2I-E106", `${path} ${why}`, { fix: "Correct the file." });
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    throw refuse("cannot be read");
  }
  const value = yamlOf(text);
  if (!isObject(value)) throw refuse("is not YAML with an object in it");
  return value;
}

/** Null for what is no YAML, or has aliases that do not end. */
function yamlOf(text: string): unknown {
  try {
    // Loaded when there is something to read.
    const { parseDocument } = require("yaml") as typeof import("yaml");
    const document = parseDocument(text, { logLevel: "silent" });
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

/** One level: what `auth` says stands beside the rest; of regions the first is the one. */
function flat(cloud: JsonObject): Settings {
  const { auth, regions, ...rest } = cloud;
  const [region] = Array.isArray(regions) ? (regions as readonly Json[]) : [];
  const first = isObject(region) ? region.name : region;
  const all = { ...(first === undefined ? {} : { region_name: first }), ...rest };
  const entries = [...Object.entries(all), ...Object.entries(isObject(auth) ? auth : {})];
  return new Map(
    entries.flatMap(([key, value]) =>
      ["string", "number", "boolean"].includes(typeof value) && value !== ""
        ? [[key, String(value)] as const]
        : [],
    ),
  );
}

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
