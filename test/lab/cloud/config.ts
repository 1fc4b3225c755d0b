import { join } from "node:path";
import type { Coordinates, Server } from "../server.ts";

/** One account for everybody: what these services do with roles is not our matter. */
export const ADMIN = "admin";

export interface CloudPlace {
  readonly folder: string;
  readonly server: Server;
  readonly databases: { readonly [service in Service | "nova_api"]: string };
  readonly ports: { readonly [service in Service]: number };
  readonly password: string;
}

export type Service = "keystone" | "nova" | "glance";

export type Sections = {
  readonly [section: string]: { readonly [option: string]: string | number | boolean };
};

/** The configuration of a service: loopback, nothing of the system's own. */
export function cloudConfig(service: Service, place: CloudPlace): string {
  return ini({ ...common(place), ...CONFIGS[service](place) });
}

export function ini(sections: Sections): string {
  return Object.entries(sections)
    .map(([section, options]) =>
      [`[${section}]`, ...Object.entries(options).map(([key, value]) => `${key} = ${value}`)].join(
        "\n",
      ),
    )
    .join("\n");
}

/** @source facts/lab.md 5, 6 */
const CONFIGS: { readonly [service in Service]: (place: CloudPlace) => Sections } = {
  keystone: (place) => ({
    database: { connection: connection(place, "keystone") },
    fernet_tokens: { key_repository: join(place.folder, "fernet") },
    fernet_receipts: { key_repository: join(place.folder, "fernet") },
    credential: { key_repository: join(place.folder, "credential") },
    // It keeps what it read, as in production: without, to validate a token is a second of the processor.
    cache: { enabled: true, backend: "oslo_cache.dict" },
    identity: { password_hash_rounds: 4 },
  }),
  nova: (place) => ({
    DEFAULT: {
      host: "lab",
      my_ip: "127.0.0.1",
      state_path: place.folder,
      transport_url: "fake:/",
      // Small pages, so that there are several.
      osapi_max_limit: 2,
    },
    api_database: { connection: connection(place, "nova_api") },
    database: { connection: connection(place, "nova") },
    api: { auth_strategy: "keystone", max_limit: 2 },
    keystone_authtoken: token(place),
  }),
  glance: (place) => ({
    DEFAULT: { api_limit_max: 2, limit_param_default: 2, enabled_backends: "files:file" },
    database: { connection: connection(place, "glance") },
    glance_store: { default_backend: "files" },
    files: { filesystem_store_datadir: join(place.folder, "images") },
    paste_deploy: { flavor: "keystone" },
    keystone_authtoken: token(place),
  }),
};

/** What every service of OpenStack needs, to read nothing of the system's own. */
export function common({ folder }: Pick<CloudPlace, "folder">): Sections {
  return {
    oslo_concurrency: { lock_path: folder },
    oslo_policy: { policy_file: "policy.yaml", policy_dirs: join(folder, "policy.d") },
    oslo_messaging_notifications: { driver: "noop" },
  };
}

/** How a service asks Keystone whose a token is. */
export function token({ ports, password }: Pick<CloudPlace, "ports" | "password">) {
  const url = `http://127.0.0.1:${ports.keystone}/v3`;
  return {
    ...{ auth_type: "password", auth_url: url, www_authenticate_uri: url },
    ...{ username: ADMIN, password, project_name: ADMIN },
    ...{ user_domain_id: "default", project_domain_id: "default" },
  };
}

function connection({ server, databases }: CloudPlace, name: keyof CloudPlace["databases"]) {
  return sqlalchemy(server, databases[name]);
}

export function sqlalchemy({ engine, user, password, host, port }: Coordinates, database: string) {
  const dialect = { mysql: "mysql+pymysql", postgresql: "postgresql+psycopg2" }[engine];
  const charset = engine === "mysql" ? "?charset=utf8" : "";
  return `${dialect}://${user}:${password}@${host}:${port}/${database}${charset}`;
}
