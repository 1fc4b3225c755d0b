import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
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

/**
 * The binaries of an engine: those found, or else those of the distribution's packages, which are
 * installed when this is root on Debian. Null when there is no way; why is told on stderr.
 */
export function binaries(engine: ServerEngine): Binaries | null {
  return find(engine) ?? (install(SERVERS[engine]) ? find(engine) : null);
}

function find(engine: ServerEngine): Binaries | null {
  const found = SERVERS[engine].binaries.map(locate);
  const [server, init] = found;
  return server == null || init == null || found.includes(null) ? null : { server, init };
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

/** Installs packages when this is root on Debian; false when there is no way, told on stderr. */
export function install({
  title,
  packages,
}: {
  readonly title: string;
  readonly packages: readonly string[];
}): boolean {
  if (process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) return false;
  process.stderr.write(`lab: installing ${title} (apt-get install ${packages.join(" ")})\n`);
  const lock = ["-o", "DPkg::Lock::Timeout=900"];
  return (
    aptGet([...lock, "update"]) &&
    aptGet([...lock, "install", "-y", "--no-install-recommends", ...packages])
  );
}

function aptGet(args: readonly string[]): boolean {
  // It waits for dpkg's lock, and not for that of its lists: two of us would not.
  const words = [join(tmpdir(), "nova2ironic-apt.lock"), "apt-get", "-qq", ...args];
  const { status, stderr, error } = spawnSync("flock", words, {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (status !== 0) process.stderr.write(`lab: apt-get: ${error?.message ?? stderr}\n`);
  return status === 0;
}
