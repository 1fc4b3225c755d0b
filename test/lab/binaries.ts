import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";

export type ServerEngine = "mysql" | "postgresql";

/** What a person calls each engine, how to get it, and the database it always has. */
export const SERVERS = {
  mysql: {
    title: "MariaDB",
    packages: ["mariadb-server-core", "mariadb-client-core"],
    // The last one is of the second package, and mariadb-install-db needs it.
    binaries: ["mariadbd", "mariadb-install-db", "my_print_defaults"],
    home: "mysql",
  },
  postgresql: {
    title: "PostgreSQL",
    packages: ["postgresql"],
    binaries: ["postgres", "initdb"],
    home: "postgres",
  },
} as const;

/** Paths of the server and of what makes its data folder. */
export interface Binaries {
  readonly server: string;
  readonly init: string;
}

/** The binaries of an engine. @throws Error with the packages to install */
export function binaries(engine: ServerEngine): Binaries {
  const found = SERVERS[engine].binaries.map(locate);
  const [server, init] = found;
  if (server == null || init == null || found.includes(null)) throw notInstalled(SERVERS[engine]);
  return { server, init };
}

/** What a lane needs and is not there; `npm run test:setup` installs it. */
export interface Software {
  readonly title: string;
  readonly packages: readonly string[];
}

export function notInstalled({ title, packages }: Software): Error {
  return new Error(
    `${title} is not installed. Run "npm run test:setup -- LANE" as root, or: apt-get install ${packages.join(" ")}`,
  );
}

/** Absolute path of a program. @throws Error with the packages to install */
export function needsProgram(name: string, of: Software): string {
  const path = locate(name);
  if (path === null) throw notInstalled(of);
  return path;
}

/** Absolute path of a program, whether or not its folder is on the PATH. */
export function locate(name: string): string | null {
  const path = folders()
    .map((folder) => join(folder, name))
    .find(executable);
  return path ?? null;
}

/** Debian keeps PostgreSQL off the PATH, one folder a version, and /usr/sbin off a user's PATH. */
function folders(): readonly string[] {
  const versions = "/usr/lib/postgresql";
  const newestFirst = existsSync(versions)
    ? readdirSync(versions).toSorted((a, b) => Number(b) - Number(a))
    : [];
  return [
    ...newestFirst.map((version) => join(versions, version, "bin")),
    ...(process.env.PATH ?? "").split(delimiter),
    "/usr/sbin",
    "/usr/local/sbin",
  ];
}

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
