import { dirname, join } from "node:path";
import { binaries } from "./binaries.ts";
import { freePort, startDaemon } from "./daemon.ts";
import { owner, privateFile, privateFolder } from "./folder.ts";
import { newPassword, type Server } from "./server.ts";
import { mariadbOptions, onlyAccount, ready } from "./start.ts";
import { unpackedProgram } from "./unpack.ts";

interface Common {
  readonly server: string;
  readonly init: string;
  readonly provider: string;
  /** Of the script that copies the first node's state. */
  readonly scripts: string;
  readonly password: string;
}

/** Whether Galera's provider is there, and the script that copies a node's state. */
export function hasGalera(): boolean {
  return script() !== null;
}

/** Debian's, unpacked and not installed: their package would start a server. */
function script(): string | null {
  return unpackedProgram("wsrep_sst_rsync", "mariadb-server")?.path ?? null;
}

export async function startGalera(size: number) {
  const nodes: Server[] = [];
  const stop = async (): Promise<void> => {
    for (const node of nodes.splice(0).toReversed()) await node.stop();
  };
  const path = script();
  if (path === null) throw new Error("Galera is not there");
  const scripts = dirname(path);
  const provider = join(scripts, "..", "lib", "galera", "libgalera_smm.so");
  const common = { ...binaries("mysql"), provider, scripts, password: newPassword() };
  let first: number | null = null;
  try {
    while (nodes.length < size) {
      const { node, group } = await startNode(common, first);
      nodes.push(node);
      first ??= group;
    }
  } catch (cause) {
    await stop();
    throw cause;
  }
  return { nodes, stop };
}

/** @param first the port at which the cluster talks; null: this is its first node */
async function startNode(
  { server, init, provider, scripts, password }: Common,
  first: number | null,
): Promise<{ readonly node: Server; readonly group: number }> {
  const user = owner("mysql");
  const [port, group, incremental, state] = [
    ...[await freePort(), await freePort(), await freePort(), await freePort()],
  ] as const;
  const folder = privateFolder("n2i-galera-", user, "in memory");
  const [data, socket] = [join(folder, "data"), join(folder, "socket")];
  const secret = join(folder, "accounts.sql");
  privateFile(secret, onlyAccount("lab", password), user);
  const plain = mariadbOptions({ folder, data, port, secret }, "in memory").filter(
    // The others get what the first one has, accounts too.
    (word) => first === null || !word.startsWith("--init-file="),
  );
  const talks = `gmcast.listen_addr=tcp://127.0.0.1:${group};ist.recv_addr=127.0.0.1:${incremental};gcache.size=16M`;
  const wsrep = [
    ...["--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON"],
    ...[`--wsrep-provider=${provider}`, `--wsrep-provider-options=${talks}`],
    ...["--wsrep-cluster-name=lab", "--wsrep-node-address=127.0.0.1", "--wsrep-sst-method=rsync"],
    `--wsrep-sst-receive-address=127.0.0.1:${state}`,
    `--wsrep-cluster-address=gcomm://${first === null ? "" : `127.0.0.1:${first}`}`,
  ];
  const make = ["--no-defaults", `--datadir=${data}`, "--skip-test-db", "--skip-name-resolve"];
  const path = `PATH=${scripts}:/usr/sbin:/usr/bin:/bin`;
  const daemon = startDaemon(
    first === null ? [init, ...make] : ["mkdir", data],
    ["env", path, server, ...plain, ...wsrep],
    { folder, signal: "TERM", owner: user },
  );
  const at = { engine: "mysql", host: "127.0.0.1", port, socket, user: "lab", password } as const;
  return { node: await ready(at, daemon), group };
}
