import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../../../grenade/lib/wait.ts";
import { onceMade, runAs, withSchema } from "../cloud/schema.ts";
import { type Daemon, freePort, startDaemon } from "../daemon.ts";
import { owner, privateFile, privateFolder } from "../folder.ts";
import { versionsOf } from "../python.ts";
import { newPassword, type Server } from "../server.ts";
import { type Api, apiOf } from "./api.ts";
import { type IronicOptions, ironicConfig } from "./config.ts";
import { htpasswd, IRONIC, ironicPrograms } from "./programs.ts";

const LAST_LINES = 30;
const TYPES = ["fake-hardware", "ipmi", "manual-management"];

/** Where a running Ironic is, as the lab's file tells it. */
export interface IronicAt extends Api {
  readonly engine: Server["engine"];
  /** Name of its database, on the lab's server of this engine. */
  readonly database: string;
  readonly log: string;
  readonly tftp: string;
}

/**
 * Starts the real Ironic 2023.1, API and conductor in one process, on a new database of this server with the schema
 * its own ironic-dbsync makes: loopback, an unprivileged user, nothing of the system's configuration or services. It
 * dies with this process.
 * @throws Error when it is not installed, or with the end of its log when API or conductor do not come up
 */
export async function startIronic(server: Server, options: IronicOptions = {}) {
  const programs = ironicPrograms();
  const user = owner("ironic");
  const { kept, database } = options;
  const own = kept === undefined ? `ironic_${newPassword().slice(0, 12)}` : "ironic";
  const name = database ?? own;
  const port = options.port ?? (await freePort());
  const password = options.auth === "http_basic" ? newPassword() : null;
  const hashed = password === null ? "" : htpasswd(programs.python, "admin", password);
  const folder = privateFolder("n2i-ironic-", user);
  const config = join(folder, "ironic.conf");
  privateFile(config, ironicConfig({ ...options, folder, port, server, database: name }), user);
  privateFile(join(folder, "htpasswd"), hashed, user);
  privateFile(join(folder, "policy.yaml"), "# as shipped\n", user);
  const files = ["--config-file", config, "--config-dir", join(folder, "conf.d")];
  const folders = ["conf.d", "policy.d", "state", "tftp/master", "http", "images/master"];
  const prepare = `mkdir -p ${folders.join(" ")} && exec "$@"`;
  const makes = [programs.dbsync, ...files, "create_schema"];
  const key = `ironic-${versionsOf(["ironic"])[0]}`;
  const sync = async (): Promise<void> => {
    await runAs(user, folder, ["sh", "-c", prepare, "sh", ...makes]);
  };
  const once = () => onceMade(server, [name], { key, make: sync });
  const drop = async (): Promise<void> => {
    if (database === undefined) await server.dropDatabase(name);
  };
  if (database === undefined)
    await withSchema(server, [name], { kept, key, make: once }).catch(async (cause) => {
      await drop();
      throw cause;
    });
  const daemon = startDaemon(
    ["sh", "-c", prepare, "sh", "true"],
    ["sh", "-c", SLEEP, "sh", programs.ironic, ...files],
    { folder, signal: "TERM", owner: user },
  );
  const stop = async (): Promise<void> => {
    await daemon.stop();
    await drop();
  };
  const at: IronicAt = {
    url: `http://127.0.0.1:${port}`,
    password,
    token: options.token ?? null,
    engine: server.engine,
    database: name,
    log: join(folder, "log"),
    tftp: join(folder, "tftp"),
  };
  const orStop = async (cause: unknown): Promise<never> => {
    // Its folder, with the log, is gone once it has ended.
    const words = daemon.running() ? endOf(at.log) : daemon.lastWords();
    await stop();
    throw new Error(`${IRONIC.title} did not start\n${words}`, { cause });
  };
  const awake = join(folder, "awake");
  const wake = (): Promise<void> => {
    if (!existsSync(awake)) privateFile(awake, "", user);
    return alive(at, daemon, typesOf(options)).catch(orStop);
  };
  const fallAsleep = async (): Promise<void> => {
    if (!existsSync(awake)) return;
    rmSync(awake);
    const pid = join(folder, "pid");
    process.kill(Number(readFileSync(pid, "utf8")), "SIGKILL");
    // Once it is gone, so is the file.
    while (existsSync(pid)) await sleep(20);
  };
  if (options.asleep === true) await schema(folder, daemon).catch(orStop);
  else await wake();
  return { ...at, stop, wake, sleep: fallAsleep };
}

export type IronicServer = Awaited<ReturnType<typeof startIronic>>;

/** Its folder is where it runs. One that ends by itself ends all. */
const SLEEP = `
trap 'ending=yes' TERM
touch schema
while [ -z "$ending" ]; do
  [ -e awake ] || { sleep 0.1; continue; }
  "$@" & echo $! >pid
  while kill -0 $! 2>/dev/null; do wait $!; done
  [ -z "$ending" ] && [ -e awake ] && exit 1
  rm pid
done`;

async function schema(folder: string, daemon: Daemon): Promise<void> {
  await until("the schema is made", async () => {
    if (!daemon.running()) throw new Error("it ended by itself");
    return existsSync(join(folder, "schema")) ? null : "it is not";
  });
}

function typesOf({ more }: IronicOptions): readonly string[] {
  const own = more?.DEFAULT?.enabled_hardware_types;
  return own === undefined ? TYPES : String(own).split(",");
}

/** Waits until the API answers and a conductor that is alive brings every hardware type that it has. */
async function alive(at: IronicAt, daemon: Daemon, types: readonly string[]): Promise<void> {
  const api = apiOf(at);
  await until("a conductor is alive", async () => {
    const asked = await api("GET", "/v1/drivers").catch((cause: unknown) => cause);
    if (!daemon.running()) throw new Error("it ended by itself");
    const answer = JSON.stringify(asked);
    return types.every((type) => answer.includes(`"${type}"`)) ? null : answer;
  });
}

function endOf(log: string): string {
  try {
    return readFileSync(log, "utf8").trimEnd().split("\n").slice(-LAST_LINES).join("\n");
  } catch {
    return "(there is no log)";
  }
}
