import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { type InMemory, inMemory } from "../manage/in-memory.ts";
import { QUICK, uuidOf } from "./cloud.ts";
import { legacyCloud } from "./legacy-cloud.ts";
import { IMAGES, PLAN, rootOf } from "./legacy-trees.ts";

const ROOT = rootOf(1);
export const INSTANCE = uuidOf("instance", 1);
/** What the agent of A published of it. */
export const RECORD = {
  ...{ instance_uuid: INSTANCE, host: "A", root_uuid: ROOT, seen_ms: 1 },
  ...{ kernel_id: "kernel", ramdisk_id: "ramdisk" },
};

const OPTIONS = { "bootfile-name": "pxelinux.0", "server-ip-address": "10.0.0.1", mtu: "9000" };

/** One machine of A whose port is in Neutron and whose images are in Glance, and a login to both. */
export async function site(t: TestContext, down = QUICK) {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const services = await inMemory(t, 82, (held, call) => {
    const [, id = ""] = /^GET \/v2\/images\/([^/]+)\/file$/.exec(call) ?? [];
    const image = held.images.get(id);
    return image === undefined ? null : { status: 200, text: String(image.bytes) };
  });
  const env = { ...services.login, ...services.how.env };
  const cloud = await legacyCloud(t, { machines: 1, env });
  const [own, old] = [join(cloud.folder, "own"), join(cloud.folder, "old")];
  for (const at of [own, join(old, INSTANCE)]) mkdirSync(at, { recursive: true });
  await cloud.bm("bm_nodes").update({ deploy_key: "KEY" });
  for (const name of IMAGES) imageOf(services, name, `${name} of Glance\n`);
  await cloud.nova("instances").update({ kernel_id: "kernel", ramdisk_id: "ramdisk" });
  const conf = join(cloud.folder, "nova.conf");
  const deploys = "deploy_kernel = deploy_kernel\ndeploy_ramdisk = deploy_ramdisk\n";
  writeFileSync(conf, `[DEFAULT]\nmy_ip = 10.0.0.9\n[baremetal]\n${deploys}`);
  const id = String((await cloud.bm("bm_interfaces").where({ bm_node_id: 1 }).first()).vif_uuid);
  const port = {
    ...{ id, device_id: INSTANCE, device_owner: "compute:None", revision_number: 1 },
    "binding:host_id": "A",
    extra_dhcp_opts: Object.entries(OPTIONS).map(([opt_name, opt_value]) => ({
      ...{ opt_name, opt_value, ip_version: 4 },
    })),
  };
  services.network.set(id, port);
  return {
    ...{ ...cloud, services, env, own, old, conf, port },
    plan: [
      ...[
        ...PLAN.slice(0, -2),
        ...down,
        "--tftp-root",
        own,
        "--tftp-from",
        `A=${old}`,
        "--nova-conf",
        conf,
      ],
      ...["--root-uuid", `${uuidOf("node", 1)}=${ROOT}`],
    ],
  };
}

type Site = Awaited<ReturnType<typeof site>>;

export function imageOf({ images }: InMemory, id: string, bytes: string, more: object = {}): void {
  const checksum = createHash("md5").update(bytes).digest("hex");
  images.set(id, { id, status: "active", size: bytes.length, checksum, bytes, ...more });
}

/** Host and options, as Neutron has them. */
export function said({ port }: Pick<Site, "port">): readonly string[] {
  const options = port.extra_dhcp_opts.map((one) => `${one.opt_name}=${one.opt_value}`);
  return [port["binding:host_id"], ...options];
}

export const HERE = "1 A 0 active - | A - 0";
export const THERE = "1 B 1 active - | B - 0";
export const NAMES_A = ["A", "bootfile-name=pxelinux.0", "server-ip-address=10.0.0.1", "mtu=9000"];
export const NAMES_B = [
  ...["B", "bootfile-name=pxelinux.0", "server-ip-address=10.0.0.9", "mtu=9000"],
  "tftp-server=10.0.0.9",
];
