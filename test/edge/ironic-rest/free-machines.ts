import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Case } from "../../../src/demo/case.ts";
import { writeCase } from "../../../src/demo/write-case.ts";
import { runs } from "../../hostile/cli.ts";

/** Extracts and plans one free machine for the service at this URL: options of what comes then. */
export async function plannedFree(
  t: Pick<TestContext, "after">,
  url: string,
): Promise<{ readonly at: readonly string[]; readonly target: readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "n2i-free-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [at, target] = [
    ["--run", join(folder, "run")],
    ["--ironic-url", url],
  ];
  const written = await writeCase(freeMachines(1), folder);
  await runs(0, ["extract", ...at, ...written.extract]);
  await runs(0, ["plan", ...at, ...target, ...written.plan, "-q"]);
  return { at, target };
}

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
