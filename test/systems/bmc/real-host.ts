import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { until } from "../../../grenade/lib/wait.ts";
import { type Daemon, freePort, startDaemon } from "../../lab/daemon.ts";
import { privateFolder } from "../../lab/folder.ts";
import { speaks } from "../../lab/speaks.ts";
import { realPrograms } from "./real-programs.ts";

/** OpenSSH's server on loopback with libvirt's virsh behind it. */
export interface RealHost {
  readonly port: number;
  /** The system's ssh with known_hosts of its own. */
  readonly ssh: string;
  readonly key: string;
  readonly folder: string;
  /** What sshd logged. */
  readonly log: () => string;
  /** Makes it the known key of the host, or no key at all. */
  readonly know: (which: "its own" | "another" | null) => void;
  readonly domains: (domains: readonly RealDomain[]) => void;
}

export interface RealDomain {
  readonly name: string;
  readonly mac: string;
  readonly state: "running" | "paused" | "shut off";
}

export const USER = "stack";

/**
 * Starts sshd with a user `stack` that only it sees: /etc/passwd and /etc/shadow are other files in
 * a mount namespace of its own, without which it does not start. The user has no rights and no
 * password.
 */
export async function startRealHost(t: TestContext): Promise<RealHost> {
  const { sshd, virsh } = realPrograms();
  const folder = privateFolder("n2i-sshd-", {});
  // The user passes through, and reads what has a mode for it.
  chmodSync(folder, 0o711);
  const at = (file: string): string => join(folder, file);
  const write = (file: string, text: string, mode = 0o600): void => {
    writeFileSync(at(file), text, { mode });
    chmodSync(at(file), mode);
  };
  const port = await freePort();
  for (const key of ["host", "other", "key"])
    spawnSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", at(key)]);
  mkdirSync(at("bin"));
  write("bin/virsh", virshOf(virsh.path, at("domains.xml")), 0o755);
  write("passwd", PASSWD, 0o644);
  write("shadow", `${USER}:*:19000:0:99999:7:::\n`);
  const environment = `PATH=${at("bin")}:/usr/bin:/bin LD_LIBRARY_PATH=${virsh.libraries}`;
  write("sshd_config", configOf(folder, port, `SetEnv ${environment}`));
  write("ssh", sshOf(at("known_hosts")), 0o700);
  const here = readlinkSync("/proc/self/ns/mnt");
  const start = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", START, "sh"];
  const daemon = startDaemon(["true"], [...start, here, folder, sshd.path], {
    folder,
    signal: "TERM",
    owner: {},
  });
  t.after(daemon.stop);
  await answers(port, daemon);
  const know = (which: "its own" | "another" | null): void => {
    const file = which === "its own" ? "host.pub" : "other.pub";
    const line = `[127.0.0.1]:${port} ${readFileSync(at(file), "utf8")}`;
    write("known_hosts", which === null ? "" : line);
  };
  know("its own");
  return {
    ...{ port, ssh: at("ssh"), key: at("key"), folder, know },
    log: () => readFileSync(at("log"), "utf8"),
    domains: (domains) =>
      write("domains.xml", `<node>${domains.map(domainOf).join("")}</node>`, 0o644),
  };
}

/** Mounts over files of the system, so it goes on only where the mounts are nobody else's. */
const START = `[ "$(readlink /proc/self/ns/mnt)" != "$1" ] || { echo "no namespace of its own"; exit 1; }
mount --bind "$2/passwd" /etc/passwd && mount --bind "$2/shadow" /etc/shadow &&
mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec "$3" -D -e -f "$2/sshd_config"`;

const PASSWD = `root:x:0:0::/:/bin/sh
sshd:x:74:74::/:/bin/false
${USER}:x:65534:65534::/:/bin/sh
`;

function configOf(folder: string, port: number, more: string): string {
  return [
    ...[`Port ${port}`, "ListenAddress 127.0.0.1", "PidFile none", "StrictModes no"],
    ...[`HostKey ${folder}/host`, `AuthorizedKeysFile ${folder}/key.pub`],
    ...["PermitRootLogin no", `AllowUsers ${USER}`, "LogLevel VERBOSE", "PrintMotd no"],
    ...["UsePAM no", more, ""],
  ].join("\n");
}

function sshOf(known: string): string {
  const options = `-F /dev/null -o UserKnownHostsFile=${known} -o GlobalKnownHostsFile=/dev/null`;
  return `#!/bin/sh\nexec ssh ${options} "$@"\n`;
}

/** libvirt's test driver keeps what changes in memory, so each process sees the file. */
function virshOf(path: string, file: string): string {
  return `#!/bin/sh
[ "$1 $2 $3" = "--quiet --connect qemu:///system" ] || exit 2
shift 3
exec ${path} --quiet --connect test://${file} "$@"\n`;
}

/** @source libvirt docs/drvtest: the number of a virDomainState */
const RUN_STATES = { running: 1, paused: 3, "shut off": 5 } as const;

function domainOf({ name, mac, state }: RealDomain, at: number): string {
  const uuid = `6695eb01-f6a4-8304-79aa-${at.toString(16).padStart(12, "0")}`;
  return `<domain type='test' xmlns:test='http://libvirt.org/schemas/domain/test/1.0'>
<name>${name}</name><uuid>${uuid}</uuid><memory>1024</memory><os><type>hvm</type></os>
<devices><interface type='network'><mac address='${mac}'/><source network='default'/></interface></devices>
<test:runstate>${RUN_STATES[state]}</test:runstate></domain>`;
}

async function answers(port: number, daemon: Daemon): Promise<void> {
  await until("sshd answers", async () => {
    if (!daemon.running()) throw new Error(`sshd did not start\n${daemon.lastWords()}`);
    return (await speaks(port, "SSH-2.0-")) ? null : "it does not";
  });
}
