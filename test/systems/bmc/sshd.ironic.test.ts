import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { until } from "../../../grenade/lib/wait.ts";
import { askVirtual } from "../../../src/systems/bmc/virsh-ask.ts";
import { type Daemon, freePort, startDaemon } from "../../lab/daemon.ts";
import { privateFolder } from "../../lab/folder.ts";
import { speaks } from "../../lab/speaks.ts";
import { machine, macOf, OPTIONS, otherHost, SETTINGS, told } from "./other-host.ts";
import { realPrograms } from "./real-programs.ts";

interface RealDomain {
  readonly name: string;
  readonly mac: string;
  readonly state: "running" | "paused" | "shut off";
}

const USER = "stack";

/**
 * Starts sshd with a user `stack` that only it sees: /etc/passwd and /etc/shadow are other files in a mount namespace
 * of its own, without which it does not start. The user has no rights and no password.
 */
async function startRealHost(t: TestContext) {
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
    domains: (domains: readonly RealDomain[]) =>
      write("domains.xml", `<node>${domains.map(domainOf).join("")}</node>`, 0o644),
  };
}

type RealHost = Awaited<ReturnType<typeof startRealHost>>;

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

const DOMAINS = (["running", "shut off", "paused"] as const).map((state, at) => ({
  name: `web ${at} & co`.replace("&", "&amp;"),
  mac: macOf(at),
  state,
}));

async function ask(host: RealHost, at: readonly number[] = [2], key = host.key) {
  const settings = {
    ...{ ...SETTINGS, virtual_power_ssh_host: "127.0.0.1", virtual_power_ssh_port: host.port },
    ...{ virtual_power_host_user: USER, virtual_power_host_key: key },
  };
  const machines = at.map((one) => machine(one));
  return askVirtual(settings, machines, { ...OPTIONS, deadline: 60_000, ssh: host.ssh });
}

test("the real sshd and virsh tell on, off and paused to one who has the key", async (t) => {
  const host = await start(t);
  assert.deepEqual((await ask(host, [0, 1, 2, 3])).map(told), [
    ["ok", "on", "the virtual machine web 0 & co is running"],
    ["ok", "off", "the virtual machine web 1 & co is shut off"],
    ["ok", "on", "the virtual machine web 2 & co is paused"],
    ["protocol-error", null, "no virtual machine on the host has a MAC of this machine"],
  ]);
  assert.equal(host.log().match(/Accepted \S+ for/g)?.length, 1);
});

test("the real ssh says of a host key that it is unknown, or another", async (t) => {
  const host = await start(t);
  host.know(null);
  const [unknown] = await ask(host);
  assert.equal(unknown?.verdict, "protocol-error");
  assert.match(unknown.detail, /^ssh does not know the host key of 127\.0\.0\.1 port \d+: run ssh/);
  host.know("another");
  const [other] = await ask(host);
  assert.equal(other?.verdict, "protocol-error");
  assert.match(
    other.detail,
    /has a host key that differs .* ssh-keygen -R "\[127\.0\.0\.1\]:\d+"$/,
  );
  assert.doesNotMatch(host.log(), /Accepted|Failed/);
});

test("the real ssh says what is wrong with a key", async (t) => {
  const host = await start(t);
  const [strange] = await ask(host, [2], `${host.folder}/other`);
  assert.equal(strange?.verdict, "wrong-password");
  const [none] = await ask(host, [2], `${host.folder}/passwd`);
  assert.equal(none?.verdict, "incomplete");
  chmodSync(host.key, 0o644);
  const [open] = await ask(host);
  assert.match(open?.detail ?? "", /chmod 600/);
});

test("1,000 machines of the real virsh are told in time, over the real ssh", async (t) => {
  const host = await start(t);
  const all = Array.from({ length: 1000 }, (_, at) => at);
  const stateOf = (at: number): "running" | "shut off" => (at % 3 === 0 ? "shut off" : "running");
  host.domains(all.map((at) => ({ name: `d${at}`, mac: macOf(at), state: stateOf(at) })));
  const readings = await ask(host, all);
  assert.deepEqual(
    readings.map(({ power }) => power),
    all.map((at) => (at % 3 === 0 ? "off" : "on")),
  );
  t.diagnostic(`${readings[0]?.elapsed} ms`);
});

test("a closed port, and one where a server is silent, are unreachable to the real ssh", async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const host = otherHost(t);
  const at = { ssh: "ssh", virtual_power_ssh_host: "127.0.0.1", deadline: 1500 };
  const [silent] = await host.ask([machine(1)], { ...at, virtual_power_ssh_port: address.port });
  assert.equal(silent?.verdict, "unreachable");
  const [closed] = await host.ask([machine(1)], { ...at, virtual_power_ssh_port: 1 });
  const refuses = ["unreachable", null, "127.0.0.1 port 1 refuses connections"];
  assert.deepEqual(closed && told(closed), refuses);
});

async function start(t: TestContext): Promise<RealHost> {
  const host = await startRealHost(t);
  host.domains(DOMAINS);
  return host;
}
