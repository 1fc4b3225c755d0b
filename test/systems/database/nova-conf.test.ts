import assert from "node:assert/strict";
import { chmod } from "node:fs/promises";
import { test } from "node:test";
import type { Seal } from "../../../src/model/secret.ts";
import { readableByAnyone, readHostConfigs } from "../../../src/systems/database/nova-conf.ts";
import { refusal, tempFolder } from "./temp-file.ts";

/** Shows what was sealed and where; the real one is the disk edge's. */
const seal: Seal = {
  seal: (clear, place) => ({ secret: `${place}/${clear}`, of: place }),
  open: ({ secret }) => secret,
  isOf: ({ secret, of }, clear) => secret === `${of}/${clear}`,
};

const DEFAULTS = {
  ...{ host: "*", own_host: null, cpu_arch: null, extra_specs: {} },
  ...{ power_manager: "nova.virt.baremetal.ipmi.IPMI", driver: "nova.virt.baremetal.pxe.PXE" },
  ...{ tftp_root: "/tftpboot", my_ip: null, pxe_bootfile_name: "pxelinux.0" },
  ...{ deploy_kernel: null, deploy_ramdisk: null },
  ...{ virtual_power_ssh_host: null, virtual_power_ssh_port: 22, virtual_power_type: "virsh" },
  ...{ virtual_power_host_user: null, virtual_power_host_pass: null },
  virtual_power_host_key: null,
};

const COMPUTE = "[DEFAULT]\ncompute_driver = nova.virt.baremetal.driver.BareMetalDriver\n";

test("an empty [baremetal] of its nova-compute means nova's defaults, for every host", async (t) => {
  const { write } = await tempFolder(t);
  const path = await write("nova.conf", `${COMPUTE}host = x\n[baremetal]\n`);
  const [found] = await readHostConfigs([path], seal);
  const { power_manager_fault, ...read } = found ?? { power_manager_fault: null };
  assert.deepEqual(read, { ...DEFAULTS, own_host: "x" });
  assert.equal(power_manager_fault, `${path} has no power_manager in [baremetal], so ${TAKEN}`);
  assert.deepEqual(await readHostConfigs([], seal), []);
});

const TAKEN = `Nova's default, ${DEFAULTS.power_manager}, is used`;
const NOT_SHOWN = "compute_driver is not that of nova-baremetal";

for (const [text, fault] of [
  ["[DEFAULT]\npower_manager = own.SnmpNetBoot\n", "$ has no [baremetal]"],
  ["[baremetal]\npower_manager =\n", "power_manager is empty at $:2"],
  ["[baremetal]\npower_manager = own.Class\n", null],
  ["[baremetal]\nsql_connection = sqlite:///x\ndb_backend = x\n", NOT_SHOWN],
  ["[DEFAULT]\ncompute_driver = libvirt.Driver\n[baremetal]\ntftp_root = /t\n", NOT_SHOWN],
  ["[baremetal]\ntftp_root = /t\nvirtual_power_ssh_host = a\n", "but virtual_power_ssh_host"],
  [`${COMPUTE}[BareMetal]\ntile_pdu_ip = a\n`, "but tile_pdu_ip"],
  [`${COMPUTE}power_manager = x\n[baremetal]\n`, "but one is outside of it at $:3"],
  ["[baremetal]\ntftp_root = /t\n", NOT_SHOWN],
  ["[DEFAULT]\ncompute_driver = baremetal.BareMetalDriver\n[baremetal]\n", TAKEN],
] as const)
  test(`the power manager of ${JSON.stringify(text)}: ${fault ?? "its own"}`, async (t) => {
    const { write } = await tempFolder(t);
    const path = await write("nova.conf", text);
    const [found] = await readHostConfigs([path], seal);
    const own = fault === null ? "own.Class" : null;
    assert.equal(found?.power_manager, fault === TAKEN ? DEFAULTS.power_manager : own);
    const said = found?.power_manager_fault ?? "its own";
    assert.ok(said.endsWith((fault ?? "its own").replace("$", path)), said);
  });

test("every option of [baremetal] is read, and the password is sealed for its host", async (t) => {
  const { write } = await tempFolder(t);
  const path = await write(
    "nova.conf",
    `[DEFAULT]
my_ip = 10.0.0.5
[baremetal]
power_manager = nova.virt.baremetal.virtual_power_driver.VirtualPowerManager
pxe_bootfile_name = other.0
driver = nova.virt.baremetal.fake.FakeDriver
flavor_extra_specs = cpu_arch:AMD64, rack: a:b ,,
instance_type_extra_specs = cpu_arch:i386
tftp_root = $state_path/tftp
deploy_kernel = k1
deploy_ramdisk = r1
virtual_power_ssh_host = 10.0.0.1
virtual_power_ssh_port = 2222
virtual_power_type = vbox
virtual_power_host_user = root
virtual_power_host_pass = p%s#1
virtual_power_host_key = /k
`,
  );
  assert.deepEqual(await readHostConfigs([`compute1=${path}`], seal), [
    {
      ...{ host: "compute1", own_host: null, cpu_arch: "AMD64", extra_specs: { rack: "a:b" } },
      power_manager: "nova.virt.baremetal.virtual_power_driver.VirtualPowerManager",
      ...{ power_manager_fault: null, driver: "nova.virt.baremetal.fake.FakeDriver" },
      ...{ tftp_root: "/var/lib/nova/tftp", my_ip: "10.0.0.5", pxe_bootfile_name: "other.0" },
      ...{ deploy_kernel: "k1", deploy_ramdisk: "r1", virtual_power_type: "vbox" },
      ...{ virtual_power_ssh_host: "10.0.0.1", virtual_power_ssh_port: 2222 },
      virtual_power_host_user: "root",
      virtual_power_host_pass: { secret: "host:compute1/p%s#1", of: "host:compute1" },
      virtual_power_host_key: "/k",
    },
  ]);
});

test("files of one host override one another, and hosts keep their order", async (t) => {
  const { write } = await tempFolder(t);
  const one = await write("one", "[baremetal]\ntftp_root = /one\ndeploy_kernel = k\n");
  const two = await write("a=two", "[baremetal]\ntftp_root = /two\n");
  const found = await readHostConfigs([`b=${one}`, two, `a=${one}`, `b=${two}`], seal);
  assert.deepEqual(
    found.map(({ host, tftp_root, deploy_kernel }) => [host, tftp_root, deploy_kernel]),
    [
      ["b", "/two", "k"],
      ["*", "/two", null],
      ["a", "/one", "k"],
    ],
  );
});

test("cpu_arch of the older option is read as flavors are compared with it", async (t) => {
  const { write } = await tempFolder(t);
  for (const [given, read] of [
    ["amd64", "amd64"],
    ["", null],
  ] as const) {
    const path = await write("c", `[baremetal]\ninstance_type_extra_specs = cpu_arch:${given}\n`);
    const [host] = await readHostConfigs([path], seal);
    assert.equal(host?.cpu_arch, read);
  }
});

test("what cannot be read is refused with its place", async (t) => {
  const { write } = await tempFolder(t);
  const port = await write("port", "[baremetal]\n\nvirtual_power_ssh_port = pa55\n");
  const pair = await write("pair", "[baremetal]\nflavor_extra_specs = a:b, pa55\n");
  const read = (spec: string) => readHostConfigs([spec], seal);
  await assert.rejects(read(port), refusal("N2I-E104", /port:3: virtual_power_ssh_port is not/));
  await assert.rejects(read(pair), refusal("N2I-E104", /pair:2: flavor_extra_specs has an entry/));
  await assert.rejects(read("h=/none/nova.conf"), refusal("N2I-E104", /\/none\/nova\.conf/));
});

test("a file that group or others may read is called so", async (t) => {
  const { write } = await tempFolder(t);
  const path = await write("nova.conf", "");
  const read = async (mode: number) => {
    await chmod(path, mode);
    return await readableByAnyone(path);
  };
  for (const mode of [0o600, 0o611]) assert.equal(await read(mode), false);
  for (const mode of [0o640, 0o604]) assert.equal(await read(mode), true);
  assert.equal(await readableByAnyone(`${path}.none`), false);
});
