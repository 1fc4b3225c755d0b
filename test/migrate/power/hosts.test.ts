import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import type { Json } from "../../../src/lib/json.ts";
import { caseUuid } from "../../cases/case.ts";
import { sqliteFile, writeCase } from "../../cases/write-case.ts";
import { run, runs } from "../../hostile/cli.ts";
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

const tenant = (id: number) => ({
  ...{ id, root_mb: 40_960, task_state: "active", instance_name: `tenant-${id}` },
  instance_uuid: caseUuid("instance", id),
});

const SIZE = { memory_mb: 49_152, root_gb: 40, ephemeral_gb: 0, swap: 0 };
const TENANTS = { ...SIZE, id: 1, name: "baremetal", flavorid: "11", vcpus: 8, deleted: 0 };
const SPARE = { ...TENANTS, id: 2, name: "spare", flavorid: "12", vcpus: 7 };
const API = { ...SIZE, rxtx_factor: 1, is_public: true, disabled: false };
const named = (id: number) => ({ id, name: `api-${id}`, flavorid: `${id}` });
const spec = (asked: string) => ({ key: `resources:${asked}`, value: "1" });

test("plan proposes a first site document; what only the operator knows is refused until it is filled in", async (t) => {
  const folder = privateFolder(t);
  const written = await writeCase(
    {
      ...{ shows: "three machines for 2023.1", allow_pairing: true },
      nova_bm: {
        nodes: [
          ...[tenant(1), { id: 2 }, { id: 3, cpus: 7 }, { id: 4, cpus: 9, task_state: "error" }],
          ...[
            { id: 5, cpus: 10 },
            { id: 6, cpus: 11 },
          ],
        ],
      },
      nova: {
        flavors: [TENANTS, SPARE, { ...SPARE, id: 3, flavorid: "13", name: "gone", deleted: 3 }],
        extra_specs: [2, 3].map((id) => ({
          ...spec(`CUSTOM_OF_${id}`),
          id,
          instance_type_id: id,
          deleted: 0,
        })),
      },
      nova_api: {
        flavors: [10, 11].map((vcpus) => ({ ...API, ...named(vcpus), vcpus })),
        extra_specs: [{ ...spec("CUSTOM_IRON"), id: 1, flavor_id: 10 }],
      },
      ironic: { release: "2023.1" },
    },
    folder,
  );
  const placement = sqliteFile(join(folder, "placement.sqlite"));
  for (const sql of [
    "CREATE TABLE resource_providers (id INTEGER, uuid TEXT, name TEXT)",
    "CREATE TABLE resource_classes (id INTEGER, name TEXT)",
    "CREATE TABLE inventories (resource_provider_id INTEGER, resource_class_id INTEGER)",
    `INSERT INTO resource_providers VALUES (1, '${caseUuid("node", 1)}', '${caseUuid("node", 1)}')`,
    "INSERT INTO resource_classes VALUES (10001, 'CUSTOM_GOLD')",
    "INSERT INTO inventories VALUES (1, 10001)",
  ])
    await placement.raw(sql);
  await placement.destroy();
  const at = ["--run", join(folder, "run")];
  await runs(0, ["extract", ...at, ...written.extract, "-q"]);
  const file = join(folder, "first.yaml");
  const plan = ["plan", ...at, ...written.ironic, "--allow-pairing", "--ironic-release", "2023.1"];
  const from = ["placement", "nova", "nova-api"].flatMap((role) => [
    ...[`--${role}-db`, `sqlite:///${join(folder, role.replace("-", "_"))}.sqlite`],
  ]);
  await runs(6, [...plan, ...from, "--propose-site", file]);
  const text = readFileSync(file, "utf8");
  const classOf = (id: number): string =>
    new RegExp(`"${caseUuid("node", id)}"}\n +set:\n +resource_class: ("[^"]*")`).exec(text)?.[1] ??
    "";
  // Placement's, that of all machines of the same size, a spare flavor's, nobody's, and nova_api's;
  // one that neither asks for a class nor names deploy images is for other hosts.
  const known = ['"gold"', '"gold"', '"of_2"', '""', '"iron"', '""'];
  assert.deepEqual([1, 2, 3, 4, 5, 6].map(classOf), known, text);
  const refused = await runs(64, [...plan, "--site", file]);
  assert.match(refused.err, /\/set\/resource_class does not have the form/s);
  // Somebody's decisions are not written over.
  const again = await run([...plan, "--propose-site", file]);
  assert.match(again.err, /N2I-E100.*it already exists/s);
  assert.equal(readFileSync(file, "utf8"), text);
  writeFileSync(file, text.replaceAll('resource_class: ""', "resource_class: silver"));
  const empty = await run([...plan, "--site", file]);
  if (/reason: ""/.test(text)) assert.match(empty.err, /\/reason is empty/);
  const reasoned = readFileSync(file, "utf8").replaceAll('reason: ""', 'reason: "looked at it"');
  writeFileSync(file, reasoned);
  const { out } = await runs(6, [...plan, "--site", file]);
  assert.doesNotMatch(out, /N2I-D407/);
});
