import { randomUUID } from "node:crypto";
import { offered } from "../../grenade/lib/enroll.ts";
import { until } from "../../grenade/lib/wait.ts";
import { inFlight } from "../../src/edge/ironic-rest/pool.ts";
import { type NovaScene, nodeOf } from "../node/nova-scene.ts";

type Body = { readonly [field: string]: unknown };

interface Spare {
  readonly uuid: string;
  /** Of Neutron. */
  readonly port: string;
}

/** Machines that are enrolled at once. */
const AT_ONCE = 4;

/**
 * How long a Nova takes to build so many servers on fake hardware, of which nothing is to be kept: all are asked for at
 * once, by a single call each, right after its resource tracker has seen their machines.
 *
 * @param scene one without other spare machines
 * @returns seconds from the first call to the last server that is ACTIVE
 */
export async function novaAlone(scene: NovaScene, count: number): Promise<number> {
  const { asks } = scene.stack;
  const [known] = scene.machines;
  if (known === undefined) throw new Error("the scene has no machine that tells an image");
  const { instance_info } = await nodeOf(scene, known);
  const { image_source: image } = instance_info as Body;
  const { networks = [] } = (await asks<{ networks: readonly Body[] }>(
    ...(["neutron", "GET", "/networks"] as const),
  )) ?? { networks: [] };
  // One more: a nova-compute's first server is built alone.
  const all = Array.from({ length: count + 1 }, (_, at) => at);
  const [first, ...spares] = await inFlight(all, AT_ONCE, (at) =>
    spare(scene, at, networks[0]?.id),
  );
  const resources = "CUSTOM_BM";
  await offered(scene.stack, { host: "bm-1", resources, machines: count + 1 });
  const build = async ({ uuid, port }: Spare): Promise<void> => {
    const server = {
      ...{ name: `alone-${uuid}`, flavorRef: "bm", imageRef: image, networks: [{ port }] },
      hypervisor_hostname: uuid,
    };
    await asks("nova", "POST", "/servers", { server });
  };
  if (first !== undefined) await build(first);
  await until("the first is built", () => built(scene, 1));
  const began = performance.now();
  await Promise.all(spares.map(build));
  await until("all are built", () => built(scene, count + 1));
  return (performance.now() - began) / 1000;
}

async function spare(scene: NovaScene, at: number, network_id: unknown): Promise<Spare> {
  const { asks } = scene.stack;
  const uuid = randomUUID();
  const mac_address = `52:54:00:00:02:${at.toString(16).padStart(2, "0")}`;
  await asks("ironic", "POST", "/nodes", {
    ...{ uuid, driver: "fake-hardware", resource_class: "bm", automated_clean: false },
    ...{ network_interface: "noop", storage_interface: "noop" },
    properties: { cpus: 4, memory_mb: 4096, local_gb: 40, cpu_arch: "x86_64" },
  });
  await asks("ironic", "POST", "/ports", { node_uuid: uuid, address: mac_address });
  for (const [states, target, state] of [
    ["provision", "manage", "manageable"],
    ["provision", "provide", "available"],
    // Nova takes none that Ironic does not know to be off or on.
    ["power", "power off", "power off"],
  ]) {
    await asks("ironic", "PUT", `/nodes/${uuid}/states/${states}`, { target });
    await until(`${uuid} is ${state}`, async () => {
      const now = await asks<Body>("ironic", "GET", `/nodes/${uuid}`);
      const is = now?.[`${states}_state`];
      return is === state && now?.reservation === null ? null : `it is ${String(is)}`;
    });
  }
  const made = await asks<{ readonly port: { readonly id: string } }>(
    ...(["neutron", "POST", "/ports", { port: { network_id, mac_address } }] as const),
  );
  return { uuid, port: made?.port.id ?? "" };
}

async function built({ stack: { asks } }: NovaScene, count: number): Promise<string | null> {
  const countOf = async (status: string): Promise<number> => {
    const all = await asks<{ readonly servers: readonly unknown[] }>(
      ...(["nova", "GET", `/servers?limit=1000&status=${status}`] as const),
    );
    return all?.servers.length ?? 0;
  };
  const active = await countOf("ACTIVE");
  if (active === count) return null;
  const failed = await countOf("ERROR");
  if (failed > 0) throw new Error(`Nova could not build ${failed} of them`);
  return `${active} of ${count} are`;
}
