import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Case } from "../../cases/case.ts";
import { writeCase } from "../../cases/write-case.ts";
import { runs } from "../../hostile/cli.ts";
import { privateFolder } from "../../hostile/deployment.ts";
import { acceptOf, FAKE_POWER } from "../../hostile/fleet.ts";

/** Extracts and plans machines for the service at this URL: one free machine unless others are given. */
export async function planOverRest(
  t: Pick<TestContext, "after">,
  url: string,
  given: Case = freeMachines(1),
  status = 0,
) {
  const folder = privateFolder(t);
  const at = ["--run", join(folder, "run")];
  const target = ["--ironic-url", url];
  const written = await writeCase(given, folder);
  await runs(0, ["extract", ...at, ...written.extract]);
  const planned = await runs(status, ["plan", ...at, ...target, ...written.plan, "-q"]);
  return { at, target, folder, planned };
}

/** Free machines nobody can switch, all of them accepted: they are adopted by a service that is alive. */
export function freeMachines(count: number): Case {
  return {
    shows: "free machines nobody can switch",
    nova_bm: { nodes: Array.from({ length: count }, (_, at) => ({ id: at + 1 })) },
    nova_conf: { "*": FAKE_POWER },
    site: {
      format: "nova2ironic/site@1",
      machines: [{ match: {}, accept: acceptOf("N2I-D604", "N2I-D605") }],
    },
    allow_pairing: true,
  };
}
