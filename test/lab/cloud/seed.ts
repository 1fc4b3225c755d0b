import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createReadStream, existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { binaries, locate, type ServerEngine } from "../binaries.ts";
import { type Owner, owner, privateFolder } from "../folder.ts";
import { versionsOf } from "../python.ts";
import { startPostgres } from "../start.ts";
import { restore } from "./schema.ts";

/** What has a schema among a cloud's services, and how Python names it. */
const PACKAGES = {
  keystone: "keystone",
  glance: "glance",
  placement: "openstack-placement",
  neutron: "neutron",
  nova: "nova",
  ironic: "ironic",
} as const;

function versions(): readonly (string | null)[] {
  return versionsOf(Object.values(PACKAGES));
}

/** Where a server's data with all schemas of the installed versions is kept. */
export function seedOf(kept: string, engine: ServerEngine): string {
  const words = engine === "mysql" ? ["--no-defaults", "--version"] : ["--version"];
  const { stdout } = spawnSync(binaries(engine)?.server ?? "", words);
  const [, server = ""] = /(?:Ver|\(PostgreSQL\)) (\S+)/.exec(String(stdout)) ?? [];
  return join(kept, ["data", server, ...versions()].join("-"));
}

/** How each engine's data folder is made, by its server's user, of these dumps: `data` in the folder. */
const MAKES = { mysql: makeMariadb, postgresql: makePostgres };

/**
 * Makes a server's data folder of the schemas that `withSchema` kept, for every start to come.
 * @returns false when it is there already
 */
export async function makeSeed(kept: string, engine: ServerEngine): Promise<boolean> {
  const seed = seedOf(kept, engine);
  if (existsSync(seed)) return false;
  const user = owner(engine === "mysql" ? "mysql" : "postgres");
  const folder = privateFolder("n2i-seed-", user, "in memory");
  const made = versions();
  const dumps = Object.keys(PACKAGES).map((service, at) => `${service}-${made[at]}.sql`);
  try {
    const paths = dumps.map((name) => join(kept, name));
    await MAKES[engine](folder, user, paths);
    // As it is, owner included.
    const { status } = spawnSync("cp", ["-a", join(folder, "data"), `${seed}.${process.pid}`]);
    if (status !== 0) throw new Error(`cp ended with ${status}`);
    renameSync(`${seed}.${process.pid}`, seed);
    // Dumps, and data of other versions: a hundred megabytes each.
    for (const name of readdirSync(kept))
      if (name !== basename(seed)) rmSync(join(kept, name), { recursive: true, force: true });
    return true;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function makeMariadb(folder: string, user: Owner, dumps: readonly string[]): Promise<void> {
  const found = binaries("mysql");
  if (found === null) throw new Error("MariaDB is gone");
  const data = ["--no-defaults", `--datadir=${join(folder, "data")}`];
  const run = (words: readonly string[], input: readonly string[]) =>
    runIn({ folder, user, env: {} }, words, input);
  await run([found.init, ...data, "--skip-test-db", "--skip-name-resolve"], []);
  const whole = ["--bootstrap", "--innodb-fast-shutdown=0", "--skip-name-resolve"];
  await run([found.server, ...data, ...whole], dumps);
}

async function makePostgres(folder: string, user: Owner, dumps: readonly string[]): Promise<void> {
  const server = await startPostgres("in memory");
  try {
    for (const one of dumps) await restore(server, one);
    const at = [`--host=${server.host}`, `--port=${server.port}`, `--username=${server.user}`];
    const copy = ["--pgdata=data", "--checkpoint=fast", "--no-sync"];
    const env = { PGPASSWORD: server.password };
    await runIn({ folder, user, env }, [locate("pg_basebackup") ?? "", ...at, ...copy], []);
  } finally {
    await server.stop();
  }
}

async function runIn(
  { folder, user, env }: { readonly folder: string; readonly user: Owner; readonly env: object },
  [program = "", ...words]: readonly string[],
  input: readonly string[],
): Promise<void> {
  const child = spawn(program, words, {
    ...{ ...user, cwd: folder, env: { PATH: process.env.PATH, HOME: folder, ...env } },
    stdio: ["pipe", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  child.stdin.on("error", () => {});
  for (const file of input)
    for await (const part of createReadStream(file)) child.stdin.write(part);
  child.stdin.end();
  const [status] = await once(child, "close");
  if (status !== 0) throw new Error(`${program} ended with ${status}\n${said.slice(-4000)}`);
}
