import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
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

test("each finding about a virtual machine's host blocks its machine, and is accepted by its own word alone", async (t) => {
  const folder = privateFolder(t);
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const says = HOSTS.map(([, words], at) => `*10.1.0.${at + 1}*) echo "${words}" ;;`).join("\n");
  const key = join(folder, "key");
  writeFileSync(key, "a key", { mode: 0o600 });
  const ssh = `#!/bin/sh\nhost=somewhere\ncase "$*" in\n${says}\nesac >&2\nexit 255\n`;
  writeFileSync(join(bin, "ssh"), ssh, { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env.PATH ?? ""}` };
  const conf = (at: number) => ({
    power_manager: "nova.virt.baremetal.virtual_power_driver.VirtualPowerManager",
    virtual_power_ssh_host: `10.1.0.${at + 1}`,
    virtual_power_host_user: "stack",
    ...(HOSTS[at]?.[1] === null
      ? { virtual_power_host_pass: "virt-secret" }
      : { virtual_power_host_key: key }),
  });
  const decisions = (accept: ReturnType<typeof acceptOf>) => ({
    ...SITE,
    machines: SITE.machines.map((one) => ({ ...one, accept })),
  });
  const written = await writeCase(
    {
      ...{ shows: "virtual machines on four hosts", power: true },
      nova_bm: { nodes: HOSTS.map((_, at) => ({ id: at + 1, service_host: `vm-${at}` })) },
      nova_conf: Object.fromEntries(HOSTS.map((_, at) => [`vm-${at}`, conf(at)])),
      site: decisions([]),
    },
    folder,
  );
  const at = ["--run", join(folder, "run")];
  await runs(0, ["extract", ...at, ...written.extract, "-q"]);
  const asked = await runs(3, ["power", ...at, "--list", "-q"], { env });
  assert.doesNotMatch(asked.out + asked.err, /virt-secret/);
  assert.match(asked.out, /with a password, but power uses ssh only with a key/);
  const site = written.plan[1] ?? "";
  const plan = ["plan", ...at, ...written.ironic, ...written.plan, "-q"];
  for (const accepted of [null, ...HOSTS.map(([code]) => [code])]) {
    writeFileSync(site, JSON.stringify(decisions(acceptOf(...(accepted ?? [])))));
    const { out } = await runs(accepted === null ? 6 : 0, plan);
    for (const [n, [code]] of HOSTS.entries()) {
      const verdict = accepted?.includes(code) === true ? "create" : "blocked";
      assert.match(out, new RegExp(`00000000000${n + 1} +${verdict} .*${code}`), out);
    }
  }
});

test("machines behind one ssh host are asked in one session, and the hosts beside each other", async (t) => {
  const folder = privateFolder(t);
  const bin = join(folder, "bin");
  mkdirSync(bin);
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
  const ssh = `#!/bin/sh\nexec "${process.execPath}" "${folder}/session.cjs"\n`;
  writeFileSync(join(bin, "ssh"), ssh, { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env.PATH ?? ""}` };
  // The first two nova-computes have their machines on one host.
  const places = ["10.1.0.1", "10.1.0.1", "10.1.0.2", "10.1.0.3"];
  const virtual_power_host_key = join(folder, "key");
  writeFileSync(virtual_power_host_key, "a key", { mode: 0o600 });
  const conf = (virtual_power_ssh_host: string) => ({
    power_manager: "nova.virt.baremetal.virtual_power_driver.VirtualPowerManager",
    ...{ virtual_power_ssh_host, virtual_power_host_user: "stack", virtual_power_host_key },
  });
  const written = await writeCase(
    {
      ...{ shows: "virtual machines on three hosts of four nova-computes", power: true },
      nova_bm: { nodes: places.map((_, at) => ({ id: at + 1, service_host: `vm-${at}` })) },
      nova_conf: Object.fromEntries(places.map((host, at) => [`vm-${at}`, conf(host)])),
    },
    folder,
  );
  const at = ["--run", join(folder, "run")];
  await runs(0, ["extract", ...at, ...written.extract, "-q"]);
  const asked = await runs(3, ["power", ...at, "-f", "csv", "-q"], { env });
  assert.equal(sessions.length, 3);
  assert.equal(asked.out.match(/unreachable/g)?.length, 4, asked.out);
});
