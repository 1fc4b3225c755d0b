import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Knex } from "knex";
import type { Engine } from "../../src/model/database.ts";
import { caseMac, caseUuid } from "../cases/case.ts";
import { loadNova, loadNovaBm } from "../cases/load-case.ts";
import { tenant } from "../hostile/fleet.ts";
import { ago } from "./cloud.ts";

interface Loaded {
  readonly bm: Knex;
  readonly nova: Knex;
  readonly engine: Engine;
}

/** Machines of the first of these hosts of nova-baremetal; those with an odd number have a tenant. */
export async function loadAgents(
  { bm, nova, engine }: Loaded,
  hosts: readonly string[],
  machines: number,
): Promise<void> {
  const [service_host = ""] = hosts;
  const ids = Array.from({ length: machines }, (_, at) => at + 1);
  const nodes = ids.map((id) =>
    id % 2 === 1 ? tenant(id, { service_host }) : { id, service_host, task_state: null },
  );
  const shows = "machines of one host of nova-baremetal, half of them with a tenant";
  const service = { binary: "nova-compute", topic: "compute", deleted: 0, disabled: false };
  const given = {
    ...{ shows, nova_bm: { nodes } },
    nova: {
      instances: ids
        .filter((id) => id % 2 === 1)
        .map((id) => ({
          ...{ uuid: caseUuid("instance", id), node: caseUuid("node", id), host: service_host },
          ...{ vm_state: "active", task_state: null, launched_on: service_host, locked: false },
        })),
      services: hosts.map((host, at) => ({
        ...{ ...service, id: 70 + at, host, report_count: 1 },
        ...{ created_at: ago(9000), updated_at: ago(600) },
      })),
      compute_nodes: ids.map((id) => ({
        ...{ id, service_id: 70, hypervisor_hostname: caseUuid("node", id), deleted: 0 },
        ...{ hypervisor_type: "baremetal", vcpus: 8, memory_mb: 1024, local_gb: 10 },
        ...{ vcpus_used: 0, memory_mb_used: 0, local_gb_used: 0, hypervisor_version: 1 },
        cpu_info: "{}",
      })),
    },
  };
  await loadNovaBm(bm, engine, given);
  await loadNova(nova, engine, given);
}

export async function report(nova: Knex, hosts: readonly string[]): Promise<void> {
  await nova("services")
    .whereIn("host", hosts)
    .update({ report_count: nova.raw("report_count + 1"), updated_at: ago(0) });
}

export function rootOf(id: number): string {
  return `11111111-2222-4333-8444-${String(id).padStart(12, "0")}`;
}

/** The first host's TFTP tree as nova-baremetal leaves it, and empty ones of the others. */
export function bootFiles(folder: string, hosts: readonly string[], machines: number): void {
  for (const host of hosts) mkdirSync(join(folder, host, "pxelinux.cfg"), { recursive: true });
  const [first = ""] = hosts;
  for (let id = 1; id <= machines; id += 2) {
    const uuid = caseUuid("instance", id);
    const at = join(folder, first, uuid);
    mkdirSync(at);
    for (const name of ["kernel", "ramdisk", "deploy_kernel", "deploy_ramdisk"])
      writeFileSync(join(at, name), `${name} of ${uuid}`);
    const path = `/tftpboot/${uuid}`;
    writeFileSync(
      join(at, "config"),
      `default boot\n\nlabel deploy\nkernel ${path}/deploy_kernel\nappend initrd=${path}/deploy_ramdisk\n\nlabel boot\nkernel ${path}/kernel\nappend initrd=${path}/ramdisk root=UUID=${rootOf(id)} ro nofb nomodeset vga=normal `,
    );
    const mac = caseMac(id, 0).replaceAll(":", "-");
    symlinkSync(`${path}/config`, join(folder, first, "pxelinux.cfg", `01-${mac}`));
  }
}
