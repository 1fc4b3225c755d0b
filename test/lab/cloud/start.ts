import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Daemon, freePort, startDaemon } from "../daemon.ts";
import { owner, privateFile, privateFolder } from "../folder.ts";
import { newPassword, type Server } from "../server.ts";
import { type CloudPlace, cloudConfig, type Service, token } from "./config.ts";
import { type CloudPrograms, cloudPrograms } from "./programs.ts";
import { type Registered, register } from "./register.ts";
import { SERVE, SERVED } from "./services.ts";

const PATIENCE_MS = 180_000;
const LAST_LINES = 30;
const SERVICES = ["keystone", "nova", "glance"] as const satisfies readonly Service[];

/** A running cloud: how to log in, its databases on the server, and how to end it. */
export interface Cloud extends Registered {
  readonly databases: CloudPlace["databases"];
  /** Where each service is, or would be, on 127.0.0.1. */
  readonly ports: CloudPlace["ports"];
  /** What a service's configuration needs to ask this Keystone whose a token is. */
  readonly authtoken: ReturnType<typeof token>;
  readonly stop: () => Promise<void>;
}

/**
 * Starts the real Keystone, Nova's API and Glance of Zed on new databases of this MariaDB, with the
 * schemas their own programs make: loopback, an unprivileged user, nothing of the system's
 * configuration. They die with this process.
 *
 * @param services those that run
 * @param cached Keystone keeps what it read, which tests that change roles would rather not
 * @returns null when they are not installed and cannot be
 * @throws Error with the end of a log when one does not come up
 */
export async function startCloud(
  server: Server,
  services: readonly Service[] = SERVICES,
  cached = false,
): Promise<Cloud | null> {
  const programs = cloudPrograms();
  if (programs === null) return null;
  const end = newPassword().slice(0, 8);
  const databases = { keystone: "", nova: "", nova_api: "", glance: "" };
  const names = [...services, ...(services.includes("nova") ? (["nova_api"] as const) : [])];
  for (const name of names) {
    databases[name] = `${name}_${end}`;
    await server.newDatabase(databases[name], "utf8mb3");
  }
  const [keystone, nova, glance] = [await freePort(), await freePort(), await freePort()];
  const ports = { keystone, nova, glance };
  const place = { server, databases, ports, password: newPassword(), cached };
  const running = services.map((service) => ({ service, ...serve(service, place, programs) }));
  const stop = async (): Promise<void> => {
    await Promise.all(running.map(({ daemon }) => daemon.stop()));
    for (const name of names) await server.dropDatabase(databases[name]);
  };
  try {
    for (const { service, daemon, log } of running)
      await answers(service, `http://127.0.0.1:${ports[service]}/`, daemon, log);
    return { ...(await register(place)), databases, ports, authtoken: token(place), stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
}

function serve(
  service: Service,
  place: Omit<CloudPlace, "folder">,
  programs: CloudPrograms,
): { readonly daemon: Daemon; readonly log: string } {
  const { config, prepare, env, application } = SERVED[service];
  const user = owner(service);
  const folder = privateFolder(`n2i-${service}-`, user);
  privateFile(join(folder, config), cloudConfig(service, { ...place, folder }), user);
  privateFile(join(folder, "policy.yaml"), "# as shipped\n", user);
  privateFile(join(folder, "password"), place.password, user);
  const manage = `manage="${programs[service]} --config-file ${folder}/${config}"`;
  const make = [
    "mkdir -p policy.d images && mkdir -m 700 fernet credential",
    ...prepare(place),
  ].join(" && ");
  const variables = Object.entries(env(folder)).map(([name, value]) => `${name}=${value}`);
  const port = String(place.ports[service]);
  const daemon = startDaemon(
    ["sh", "-c", `${manage}; ${make}`],
    ["env", ...variables, programs.python, "-c", SERVE, port, ...application],
    { folder, signal: "TERM", owner: user },
  );
  return { daemon, log: join(folder, "log") };
}

/** Waits until an HTTP service answers, if only that it wants a token. */
export async function answers(
  service: string,
  url: string,
  daemon: Daemon,
  log: string,
): Promise<void> {
  for (const until = Date.now() + PATIENCE_MS; ; await sleep(100)) {
    const answer = await fetch(url).catch(() => null);
    if (answer !== null && answer.status < 500) return;
    if (daemon.running() && Date.now() < until) continue;
    const words = daemon.running() ? readFileSync(log, "utf8") : daemon.lastWords();
    const last = words.trimEnd().split("\n").slice(-LAST_LINES).join("\n");
    throw new Error(`${service} did not start (${answer?.status ?? "no answer"})\n${last}`);
  }
}
