import type { Case } from "../../../src/demo/case.ts";

/** Free machines nobody can switch, all of them accepted: they are adopted by a service that is alive. */
export function freeMachines(count: number): Case {
  return {
    shows: "free machines nobody can switch",
    nova_bm: { nodes: Array.from({ length: count }, (_, at) => ({ id: at + 1 })) },
    nova_conf: {
      "*": {
        flavor_extra_specs: "cpu_arch:x86_64",
        power_manager: "nova.virt.baremetal.fake.FakePowerManager",
      },
    },
    site: {
      format: "nova2ironic/site@1",
      machines: [
        {
          match: {},
          accept: ["N2I-D604", "N2I-D605"].map((finding) => ({ finding, reason: "looked at it" })),
        },
      ],
    },
    allow_pairing: true,
  };
}
