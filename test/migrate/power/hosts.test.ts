import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import type { Json } from "../../../src/lib/json.ts";
import { writeCase } from "../../cases/write-case.ts";
import { runs } from "../../hostile/cli.ts";
import { privateFolder } from "../../hostile/deployment.ts";
import { acceptOf, SITE } from "../../hostile/fleet.ts";

/** What ssh says of each virtualisation host, and the finding of the machine it runs; null: only a password is known. */
const HOSTS = [
  ["N2I-D608", "ssh: connect to host $host port 22: Connection refused"],
  ["N2I-D609", "stack@$host: Permission denied (publickey)."],
  ["N2I-D610", "Host key verification failed."],
  ["N2I-D605", null],
] as const;

/** Virtual machines of as many nova-computes as there are hosts, extracted; ssh to a host is this script. */
async function virtual(
  folder: string,
  ssh: string,
  hosts: readonly { readonly host: string; readonly pass?: string }[],
  site?: Json,
) {
  const [bin, key] = [join(folder, "bin"), join(folder, "key")];
  mkdirSync(bin);
  writeFileSync(join(bin, "ssh"), `#!/bin/sh\n${ssh}\n`, { mode: 0o755 });
  writeFileSync(key, "a key", { mode: 0o600 });
  const confs = hosts.map(({ host, pass }) => ({
    power_manager: "nova.virt.baremetal.virtual_power_driver.VirtualPowerManager",
    ...{ virtual_power_ssh_host: host, virtual_power_host_user: "stack" },
    ...(pass === undefined ? { virtual_power_host_key: key } : { virtual_power_host_pass: pass }),
  }));
  const written = await writeCase(
    {
      ...{ shows: "virtual machines", power: true, ...(site !== undefined && { site }) },
      nova_bm: { nodes: hosts.map((_, at) => ({ id: at + 1, service_host: `vm-${at}` })) },
      nova_conf: Object.fromEntries(confs.map((conf, at) => [`vm-${at}`, conf])),
    },
    folder,
  );
  const at = ["--run", join(folder, "run")];
  await runs(0, ["extract", ...at, ...written.extract, "-q"]);
  const env = { PATH: `${bin}:${process.env.PATH ?? ""}` };
  const power = (...words: readonly string[]) => runs(3, ["power", ...at, ...words, "-q"], { env });
  return { at, written, power };
}

test("each finding about a virtual machine's host blocks its machine, and is accepted by its own word alone", async (t) => {
  const says = HOSTS.map(([, words], at) => `*10.1.0.${at + 1}*) echo "${words}" ;;`).join("\n");
  const ssh = `host=somewhere\ncase "$*" in\n${says}\nesac >&2\nexit 255`;
  const decisions = (...codes: readonly string[]) => ({
    ...SITE,
    machines: SITE.machines.map((one) => ({ ...one, accept: acceptOf(...codes) })),
  });
  const hosts = HOSTS.map(([, words], at) => ({
    ...{ host: `10.1.0.${at + 1}`, ...(words === null && { pass: "virt-secret" }) },
  }));
  const { at, written, power } = await virtual(privateFolder(t), ssh, hosts, decisions());
  const asked = await power("--list");
  assert.doesNotMatch(asked.out + asked.err, /virt-secret/);
  assert.match(asked.out, /with a password, but power uses ssh only with a key/);
  const site = written.plan[1] ?? "";
  const plan = ["plan", ...at, ...written.ironic, ...written.plan, "-q"];
  for (const accepted of [[], ...HOSTS.map(([code]) => [code])]) {
    writeFileSync(site, JSON.stringify(decisions(...accepted)));
    const { out } = await runs(accepted.length > 0 ? 0 : 6, plan);
    for (const [n, [code]] of HOSTS.entries()) {
      const verdict = accepted.includes(code) ? "create" : "blocked";
      assert.match(out, new RegExp(`00000000000${n + 1} +${verdict} .*${code}`), out);
    }
  }
});

test("machines behind one ssh host are asked in one session, and the hosts beside each other", async (t) => {
  const folder = privateFolder(t);
  // Each session ends once three have begun.
  const sessions: Socket[] = [];
  const gate = createServer((session) => {
    sessions.push(session);
    if (sessions.length >= 3) for (const one of sessions) one.end();
  });
  await once(gate.listen(0, "127.0.0.1"), "listening");
  t.after(() => gate.close());
  const { port } = gate.address() as AddressInfo;
  const session = `process.exitCode = 255;
const ended = () => console.error("Connection refused");
require("node:net").connect(${port}, "127.0.0.1").resume().on("close", ended);
`;
  writeFileSync(join(folder, "session.cjs"), session);
  // Where /proc is missing, execPath may be no whole path, which a #! needs.
  const ssh = `exec "${process.execPath}" "${folder}/session.cjs"`;
  // The first two nova-computes have their machines on one host.
  const hosts = ["10.1.0.1", "10.1.0.1", "10.1.0.2", "10.1.0.3"].map((host) => ({ host }));
  const { power } = await virtual(folder, ssh, hosts);
  const asked = await power("-f", "csv");
  assert.equal(sessions.length, 3);
  assert.equal(asked.out.match(/unreachable/g)?.length, 4, asked.out);
});
