import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { until } from "../../../grenade/lib/wait.ts";
import { type Daemon, freePort, startDaemon } from "../daemon.ts";
import { owner, privateFile, privateFolder } from "../folder.ts";
import { needs } from "../index.ts";
import { versionsOf } from "../python.ts";
import { newPassword, type Server } from "../server.ts";
import { type CloudPlace, cloudConfig, type Service, token } from "./config.ts";
import { type CloudPrograms, cloudPrograms } from "./programs.ts";
import { register } from "./register.ts";
import { onceMade, runAs, withSchema } from "./schema.ts";
import { SERVED, serving } from "./services.ts";

const LAST_LINES = 30;
const SERVICES = ["keystone", "nova", "glance"] as const satisfies readonly Service[];

/** Where services will be and what they log in with: chosen before the first one runs. */
export interface Chosen extends Pick<CloudPlace, "ports" | "password"> {
  /** What a service's configuration needs to ask this Keystone whose a token is. */
  readonly authtoken: ReturnType<typeof token>;
}

export async function choose(): Promise<Chosen> {
  const [keystone, nova, glance] = [await freePort(), await freePort(), await freePort()];
  const own = { ports: { keystone, nova, glance }, password: newPassword() };
  return { ...own, authtoken: token(own) };
}

/**
 * Starts the real Keystone, Nova's API and Glance of Zed on new databases of this MariaDB, with the schemas their own
 * programs make: loopback, an unprivileged user, nothing of the system's configuration. They die with this process.
 * @param options.kept folder for its schemas, once made; its databases then have the services' names
 * @throws Error when they are not installed, or with the end of a log when one does not come up
 */
export async function startCloud(
  server: Server,
  options: { services?: readonly Service[] | undefined; chosen?: Chosen; kept?: string } = {},
) {
  const { services = SERVICES, chosen, kept } = options;
  const programs = cloudPrograms();
  const end = kept === undefined ? `_${newPassword().slice(0, 8)}` : "";
  const databases = { keystone: "", nova: "", nova_api: "", glance: "" };
  const names = [...services, ...(services.includes("nova") ? (["nova_api"] as const) : [])];
  for (const name of names) databases[name] = `${name}${end}`;
  const { ports, password, authtoken } = chosen ?? (await choose());
  const place = { server, databases, ports, password };
  const running: Awaited<ReturnType<typeof startService>>[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((daemon) => daemon.stop()));
    for (const name of names) await server.dropDatabase(databases[name]);
  };
  try {
    for (const service of services) running.push(await serve(service, place, programs, kept));
    return { ...(await register(place)), databases, ports, authtoken, stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
}

export type Cloud = Awaited<ReturnType<typeof startCloud>>;

/** A cloud that ends with the test. */
export async function withCloud(t: Pick<TestContext, "after">, services?: readonly Service[]) {
  const cloud = await startCloud(await needs("mysql"), { services });
  t.after(cloud.stop);
  return cloud;
}

async function serve(
  service: Service,
  place: Omit<CloudPlace, "folder">,
  programs: CloudPrograms,
  kept: string | undefined,
) {
  const { config, schema, prepare, first, env, application } = SERVED[service];
  const { user, folder } = folderOf(service, (at) => ({
    ...{ [config]: cloudConfig(service, { ...place, folder: at }), password: place.password },
  }));
  const manage = [programs[service], "--config-file", join(folder, config)];
  const { server, databases } = place;
  const names = [...(service === "nova" ? [databases.nova_api] : []), databases[service]];
  const key = `${service}-${versionsOf([service])[0]}`;
  const sync = async (): Promise<void> => {
    for (const words of schema) await runAs(user, folder, [...manage, ...words.split(" ")]);
  };
  const once = () => onceMade(server, names, { key, make: sync });
  await withSchema(server, names, { kept, key, make: once });
  const folders = "mkdir -p policy.d images && mkdir -m 700 fernet credential";
  const make = [folders, ...prepare()].join(" && ");
  const variables = Object.entries(env(folder)).map(([name, value]) => `${name}=${value}`);
  const port = place.ports[service];
  return startService({ service, folder, port }, make, [
    ...["env", ...variables, programs.python, "-c", serving(first), `${port}`, ...application],
  ]);
}

/** A private folder of the service's user with its files, its policy as shipped. */
export function folderOf(service: string, files: (folder: string) => Record<string, string>) {
  const user = owner(service);
  const folder = privateFolder(`n2i-${service}-`, user);
  const all = { ...files(folder), "policy.yaml": "# as shipped\n" };
  for (const [name, text] of Object.entries(all)) privateFile(join(folder, name), text, user);
  return { user, folder };
}

/** Starts an HTTP service, once a shell prepared its folder, and waits until it answers. */
export async function startService(
  { service, folder, port }: { readonly service: string; folder: string; port: number },
  prepare: string,
  program: readonly string[],
) {
  const options = { folder, signal: "TERM", owner: owner(service) } as const;
  const daemon = startDaemon(["sh", "-c", prepare], program, options);
  const [url, log] = [`http://127.0.0.1:${port}`, join(folder, "log")];
  try {
    await answers(service, `${url}/`, daemon, log);
  } catch (cause) {
    await daemon.stop();
    throw cause;
  }
  return { url, log, stop: daemon.stop };
}

/** Waits until an HTTP service answers, if only that it wants a token. */
export async function answers(service: string, url: string, daemon: Daemon, log: string) {
  const last = (): string => {
    // Before its first line it has no log, and its folder goes when it ends.
    const words = existsSync(log) ? readFileSync(log, "utf8") : daemon.lastWords();
    return words.trimEnd().split("\n").slice(-LAST_LINES).join("\n");
  };
  await until(`${service} answers`, async () => {
    const status = await fetch(url).then(
      (answer) => answer.status,
      () => null,
    );
    // What answers may be another's, if ours found its port taken.
    if (!daemon.running()) throw new Error(`${service} did not start\n${last()}`);
    return status !== null && status < 500 ? null : `${status ?? "no answer"}\n${last()}`;
  });
}
