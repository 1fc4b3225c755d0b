import { homedir } from "node:os";
import { MigrationError } from "../../lib/error.ts";
import type { JsonObject } from "../../lib/json.ts";

/** Service types with settings of their own. */
export const SERVICES = ["baremetal", "compute", "placement", "image", "network"] as const;

export type CloudService = (typeof SERVICES)[number];

export interface Sought {
  readonly interface: "public" | "internal" | "admin";
  readonly region: string | null;
}

export type Cloud = ReturnType<typeof cloudOf>;

export type Tls = Cloud["tls"];

/** The origin of a cloud that only variables describe. */
export const ENVIRONMENT = "OS_*";

/** Secrets are in functions so that they cannot be printed. */
export type Auth =
  | {
      readonly kind: "none";
      /** auth_type is set explicitly. Otherwise, auth_url is missing. */
      readonly explicit: boolean;
    }
  | { readonly kind: "basic"; readonly user: string; readonly password: () => string }
  | {
      readonly kind: "keystone";
      readonly url: string;
      /** The `auth` object of a token request: `identity`, and maybe `scope`. */
      readonly question: () => JsonObject;
      /** A secret of any length to remove from messages. */
      readonly secret: () => string;
    };

/** Settings by their name in clouds.yaml (`auth_url`). Empty ones are omitted. */
export type Settings = ReadonlyMap<string, string>;

const INTERFACES = ["public", "internal", "admin"] as const;

type Plugin = "none" | "basic" | "password" | "application_credential";

/** keystoneauth's plugin names. */
const PLUGINS: { readonly [name: string]: Plugin } = {
  none: "none",
  http_basic: "basic",
  password: "password",
  v2password: "password",
  v3password: "password",
  v3applicationcredential: "application_credential",
  None: "none",
};

export function pluginOf(name: string): Plugin | undefined {
  return Object.hasOwn(PLUGINS, name) ? PLUGINS[name] : undefined;
}

/**
 * @param home replaces `~` in paths, as in openstacksdk
 * @throws MigrationError N2I-E106 for a missing or unknown setting; contains no secret
 */
export function cloudOf(settings: Settings, from: string, home = homedir()) {
  const refuse = (reason: string): MigrationError =>
    new MigrationError("N2I-E106", `${from}: ${reason}`);
  const override = (service: CloudService) => settings.get(`${service}_endpoint_override`) ?? null;
  const sought = (service: CloudService): Sought => {
    const specific = `${service}_interface`;
    const name = settings.has(specific) ? specific : "interface";
    const value = settings.get(name) ?? "public";
    const chosen = INTERFACES.find((each) => each === value);
    if (chosen === undefined) throw refuse(`${name} ${value} is none of ${INTERFACES.join(", ")}`);
    const region = settings.get(`${service}_region_name`) ?? settings.get("region_name") ?? null;
    return { interface: chosen, region };
  };
  const verify = settings.get("verify");
  const path = (name: string) => settings.get(name)?.replace(/^~(?=\/|$)/, () => home) ?? null;
  return {
    /** For messages: `cloud "lab" of /etc/openstack/clouds.yaml`, `OS_*`. */
    from,
    auth: authOf(settings, refuse),
    /** URLs of services. Null: from the catalog. */
    endpoints: {
      ...ofEach(override),
      baremetal:
        override("baremetal") ??
        settings.get("endpoint_override") ??
        settings.get("endpoint") ??
        null,
    },
    catalog: ofEach(sought),
    tls: {
      /** Null: the system's. */
      cacert: path("cacert"),
      cert: path("cert"),
      key: path("key"),
      insecure:
        /^(1|true|yes|on)$/i.test(settings.get("insecure") ?? "") ||
        /^(0|false|no|off)$/i.test(verify ?? ""),
    },
  };
}

function ofEach<T>(of: (service: CloudService) => T): { readonly [service in CloudService]: T } {
  // The object has a key for each service.
  return Object.fromEntries(SERVICES.map((service) => [service, of(service)])) as never;
}

type Refuse = (reason: string) => MigrationError;

function authOf(settings: Settings, refuse: Refuse): Auth {
  const authType = settings.get("auth_type");
  const kind = authType === undefined ? guessed(settings) : pluginOf(authType);
  if (kind === undefined)
    throw refuse(`auth_type ${authType} is not one of ${Object.keys(PLUGINS).join(", ")}`);
  const need = (name: string): string => {
    const value = settings.get(name);
    if (value === undefined) throw refuse(`${name} is missing`);
    return value;
  };
  switch (kind) {
    case "none":
      return { kind, explicit: authType !== undefined };
    case "basic": {
      const [user, password] = [need("username"), need("password")];
      return { kind, user, password: () => password };
    }
    case "password": {
      if (authType === undefined && !settings.has("auth_url"))
        throw refuse(
          "auth_url is missing for the user or password that is set: if Ironic does not require credentials, unset them, or set auth_type to none",
        );
      const url = keystoneUrl(need("auth_url"), refuse);
      const password = need("password");
      const login = {
        methods: [kind],
        password: { user: { ...user(settings, refuse), password } },
      };
      const scope = scopeOf(settings, refuse);
      const question = { identity: login, ...(scope !== null && { scope }) };
      return { kind: "keystone", url, question: () => question, secret: () => password };
    }
    case "application_credential": {
      const secret = need("application_credential_secret");
      const credential = partOf(settings, kind, () => ({ user: user(settings, refuse) }));
      if (credential === null) throw refuse("application_credential_id is missing");
      const url = keystoneUrl(need("auth_url"), refuse);
      const identity = { methods: [kind], application_credential: { ...credential, secret } };
      return { kind: "keystone", url, question: () => ({ identity }), secret: () => secret };
    }
  }
}

/** Messages omit the URL, because it may contain a password. */
function keystoneUrl(text: string, refuse: Refuse): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "")
    throw refuse("auth_url is not http(s)://HOST[:PORT]/v3");
  return text;
}

/** Guesses like keystoneauth: application credential, password, or none. */
function guessed(settings: Settings): Plugin {
  if (settings.has("application_credential_secret")) return "application_credential";
  // A login without auth_url is incomplete, not absent.
  const login = ["auth_url", "username", "user_id", "password"].some((name) => settings.has(name));
  return login ? "password" : "none";
}

/**
 * A reference in a Keystone request: `NAME_id`, or `NAME_name` with its owner. Null without both.
 */
function partOf(
  settings: Settings,
  name: string,
  owner: () => JsonObject = () => ({}),
): JsonObject | null {
  const id = settings.get(`${name}_id`);
  if (id !== undefined) return { id };
  const text = settings.get(`${name}_name`) ?? settings.get(name === "user" ? "username" : "");
  return text === undefined ? null : { name: text, ...owner() };
}

function domain(settings: Settings, name: string): JsonObject {
  // With a project, `domain` applies to project and user. @source openstacksdk, _handle_domain_id
  const hasProject = partOf(settings, "project") !== null;
  const configured = partOf(settings, name) ?? (hasProject ? partOf(settings, "domain") : null);
  if (configured !== null) return configured;
  const id = settings.get("default_domain_id") ?? settings.get("default_domain");
  const text = settings.get("default_domain_name");
  return text === undefined ? { id: id ?? "default" } : { name: text };
}

function user(settings: Settings, refuse: Refuse): JsonObject {
  const found = partOf(settings, "user", () => ({ domain: domain(settings, "user_domain") }));
  if (found === null) throw refuse("username is missing");
  return found;
}

function scopeOf(settings: Settings, refuse: Refuse): JsonObject | null {
  const system = settings.get("system_scope");
  if (system === "all") return { system: { all: true } };
  if (system !== undefined) throw refuse(`system_scope is ${system}, but only all is supported`);
  const owner = (): JsonObject => ({ domain: domain(settings, "project_domain") });
  const project = partOf(settings, "project", owner);
  if (project !== null) return { project };
  const inside = partOf(settings, "domain");
  return inside === null ? null : { domain: inside };
}
