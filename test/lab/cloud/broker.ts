import { join } from "node:path";
import { until } from "../../../grenade/lib/wait.ts";
import { needsProgram } from "../binaries.ts";
import { freePort, startDaemon } from "../daemon.ts";
import { owner, privateFile, privateFolder } from "../folder.ts";
import { newPassword } from "../server.ts";
import { speaks } from "../speaks.ts";

export const BROKER = { title: "RabbitMQ", packages: ["rabbitmq-server"] } as const;

/** @source AMQP 0-9-1, 4.2.2 and 4.2.3: the protocol header, and the frame type of the method Connection.Start */
const AMQP = { hello: "AMQP\0\0\x09\x01", start: "\x01" } as const;
const HTTP = ["HTTP/1.1 ", "GET / HTTP/1.0\r\n\r\n"] as const;

/** The server itself: what is on the PATH changes to its own user first. */
const PROGRAM = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/**
 * Starts a RabbitMQ of our own, on loopback, an unprivileged user, with a port mapper of its own. It dies with this
 * process.
 * @throws Error when it is not installed
 */
export async function startBroker({ managed = false }: { readonly managed?: boolean } = {}) {
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
  const answers = async () =>
    (await speaks(port, AMQP.start, AMQP.hello)) && (api === null || (await speaks(api, ...HTTP)));
  await until("RabbitMQ answers", async () => {
    if (!daemon.running()) throw new Error(`RabbitMQ did not start\n${daemon.lastWords()}`);
    return (await answers()) ? null : "it does not";
  }).catch(async (cause) => {
    await daemon.stop();
    throw cause;
  });
  const login = `lab:${password}@127.0.0.1`;
  return {
    url: `rabbit://${login}:${port}/`,
    management: api === null ? null : `http://${login}:${api}`,
    stop: daemon.stop,
  };
}

export type Broker = Awaited<ReturnType<typeof startBroker>>;
