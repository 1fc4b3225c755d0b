import { type Case, type CaseRow, caseUuid } from "../cases/case.ts";

export function tenant(id: number, more: CaseRow = {}): CaseRow {
  return {
    id,
    instance_uuid: caseUuid("instance", id),
    instance_name: `tenant-${id}`,
    task_state: "active",
    root_mb: 40_960,
    swap_mb: 1,
    ephemeral_mb: 0,
    ...more,
  };
}

/** Decisions that let every healthy machine be loaded. */
export const SITE = {
  format: "nova2ironic/site@1",
  machines: [
    {
      match: {},
      set: {
        deploy_kernel: "f0000000-0000-4000-8000-00000000000a",
        deploy_ramdisk: "f0000000-0000-4000-8000-00000000000b",
      },
    },
  ],
} as const;

export function acceptOf(...codes: readonly string[]) {
  return codes.map((finding) => ({ finding, reason: "looked at it" }));
}

/** The nova.conf of a host whose machines nobody can switch. */
export const FAKE_POWER = {
  flavor_extra_specs: "cpu_arch:x86_64",
  power_manager: "nova.virt.baremetal.fake.FakePowerManager",
} as const;

/** Two machines that load, one with a tenant: enough where the data is not what is looked at. */
export const SMALL: Case = {
  shows: "two machines that load",
  nova_bm: { nodes: [tenant(1), { id: 2 }] },
  site: SITE,
};
