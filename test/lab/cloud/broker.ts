import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { needsProgram } from "../binaries.ts";
import { freePort, startDaemon } from "../daemon.ts";
import { owner, privateFile, privateFolder } from "../folder.ts";
import { newPassword } from "../server.ts";

const PATIENCE_MS = 300_000;

export const BROKER = { title: "RabbitMQ", packages: ["rabbitmq-server"] } as const;

/** The server itself: what is on the PATH changes to its own user first. */
const PROGRAM = "/usr/lib/rabbitmq/bin/rabbitmq-server";

export interface Broker {
  /** For oslo.messaging. */
  readonly url: string;
  /** Of its management API, with the login in it; null where that was not asked for. */
  readonly management: string | null;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a RabbitMQ of our own, on loopback, an unprivileged user, with a port mapper of its own.
 * It dies with this process.
 *
 * @throws Error when it is not installed
 */
export async function startBroker({
  managed = false,
}: {
  readonly managed?: boolean;
} = {}): Promise<Broker> {
  needsProgram("rabbitmqctl", BROKER);
  const user = owner("rabbitmq");
  const [port, distribution, mapper] = [await freePort(), await freePort(), await freePort()];
  const api = managed ? await freePort() : null;
  const folder = privateFolder("n2i-broker-", user, "in memory");
  const password = newPassword();
  const config = [
    `listeners.tcp.1 = 127.0.0.1:${port}`,
    "default_user = lab",
    `default_pass = ${password}`,
    ...(api === null ? [] : ["management.tcp.ip = 127.0.0.1", `management.tcp.port = ${api}`]),
    "",
  ];
  if (managed) privateFile(join(folder, "plugins"), "[rabbitmq_management].\n", user);
  privateFile(join(folder, "rabbitmq.conf"), config.join("\n"), user);
  const variables = {
    RABBITMQ_NODENAME: "lab@localhost",
    RABBITMQ_MNESIA_BASE: join(folder, "mnesia"),
    RABBITMQ_LOG_BASE: join(folder, "logs"),
    RABBITMQ_CONFIG_FILE: join(folder, "rabbitmq.conf"),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, "plugins"),
    RABBITMQ_DIST_PORT: distribution,
    ERL_EPMD_PORT: mapper,
    ERL_EPMD_ADDRESS: "127.0.0.1",
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: "-kernel inet_dist_use_interface {127,0,0,1}",
  };
  const words = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const daemon = startDaemon(
    ["mkdir", "-p", join(folder, "mnesia"), join(folder, "logs")],
    // The mapper in our process group: one that the server starts would outlive it.
    ["env", ...words, "sh", "-c", `epmd -address 127.0.0.1 -port ${mapper} & exec ${PROGRAM}`],
    { folder, signal: "TERM", owner: user },
  );
  const there = async () => (await listens(port)) && (api === null || (await listens(api)));
  for (const until = Date.now() + PATIENCE_MS; !(await there()); await sleep(200)) {
    if (daemon.running() && Date.now() < until) continue;
    const words = daemon.lastWords();
    await daemon.stop();
    throw new Error(`RabbitMQ did not start\n${words}`);
  }
  const login = `lab:${password}@127.0.0.1`;
  return {
    url: `rabbit://${login}:${port}/`,
    management: api === null ? null : `http://${login}:${api}`,
    stop: daemon.stop,
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const answer = (yes: boolean) => () => {
      socket.destroy();
      resolve(yes);
    };
    socket.once("connect", answer(true)).once("error", answer(false));
  });
}
