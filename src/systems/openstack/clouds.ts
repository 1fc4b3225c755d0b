import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import { ENVIRONMENT, type Settings } from "./cloud.ts";
import { settingsOf, spelled } from "./spellings.ts";

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
  const all = [path, ...(secure === null ? [] : [secure])].map((file) => {
    const { clouds } = document(file);
    return isObject(clouds) ? clouds : {};
  });
  const own = all.flatMap((clouds): readonly JsonObject[] => {
    const cloud = Object.hasOwn(clouds, name) ? clouds[name] : undefined;
    return isObject(cloud) ? [cloud] : [];
  });
  if (own.length === 0)
    throw new MigrationError(
      "N2I-E106",
      `${path} has no cloud ${JSON.stringify(name)}; it has ${[...new Set(all.flatMap(Object.keys))].join(", ") || "none"}`,
    );
  const from = `cloud ${JSON.stringify(name)} of ${path}`;
  const cloud = inRegion(
    own.map((each) => spelled(each, from)).reduce(merge),
    environment.OS_REGION_NAME || null,
    from,
  );
  if (cloud.profile !== undefined || cloud.cloud !== undefined)
    throw new MigrationError(
      "N2I-E106",
      `${path}: cloud ${JSON.stringify(name)} rests on a vendor's profile, which is not read`,
      { fix: "Write auth_url and the rest into the cloud itself." },
    );
  return { settings: settingsOf(cloud, from), from };
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
    const { parseDocument, visit } = require("yaml") as typeof import("yaml");
    const document = parseDocument(text, { logLevel: "silent" });
    // A password of digits is a text, with its leading zeros.
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
 * The settings of a cloud in one region: the wanted region, or the first.
 *
 * @throws MigrationError N2I-E106 if the cloud has regions but not the wanted one
 * @source openstacksdk, config/loader.py; the openstack client reads OS_REGION_NAME for a named cloud
 */
function inRegion(
  { regions, ...cloud }: JsonObject,
  wanted: string | null,
  from: string,
): JsonObject {
  const named = regions ?? cloud.region_name ?? wanted ?? [];
  const listed = typeof named === "string" ? named.split(",") : named;
  const all = (Array.isArray(listed) ? (listed as readonly Json[]) : [listed]).map((one) =>
    isObject(one) ? one : { name: one },
  );
  const region = all.find(({ name }) => wanted === null || name === wanted);
  if (region === undefined && all.length > 0)
    throw new MigrationError(
      "N2I-E106",
      `${from}: it has no region ${wanted}; it has ${all.map(({ name }) => name).join(", ")}`,
      { fix: "Set OS_REGION_NAME to one of them, or unset it." },
    );
  if (region === undefined) return cloud;
  const { name = null, values } = region;
  const own = isObject(values) ? spelled(values, from) : {};
  return merge({ ...cloud, region_name: name }, own);
}

/** Settings of `OS_*`: `OS_AUTH_URL` is `auth_url`. @throws MigrationError N2I-E106, as settingsOf */
export function environmentSettings(environment: Environment): Settings {
  const said = Object.entries(environment).flatMap(([variable, value]) =>
    variable.startsWith("OS_") && value !== undefined
      ? [[variable.slice(3).toLowerCase(), value] as const]
      : [],
  );
  return settingsOf(spelled(Object.fromEntries(said), ENVIRONMENT), ENVIRONMENT);
}
