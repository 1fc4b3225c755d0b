import type { TestContext } from "node:test";
import { caseUuid } from "../../cases/case.ts";
import { assertRefusal, type Ran, run } from "../../hostile/cli.ts";
import type { SITE } from "../../hostile/fleet.ts";
import { cloud } from "./cloud.ts";
import { type PlannedCloud, plannedCloud } from "./planned.ts";

/** Four machines that are planned, on SQLite. @param options of plan */
export async function planned(t: TestContext, options: readonly string[] = []) {
  const given = cloud({ machines: 4, others: 6 });
  // A takeover of Juno boots what the plan knows.
  const root = { match: {}, set: { root_uuid: "c0000000-0000-4000-8000-000000000001" } };
  const left = given.site as typeof SITE; // as the cloud decides
  const site = { ...left, machines: [...left.machines, root] };
  return plannedCloud("sqlite", t, options, { ...given, site });
}

/** As CI walks: nothing is asked, nothing is waited for, no heartbeat is watched. */
export function walk({ at }: PlannedCloud, ...more: readonly string[]): Promise<Ran> {
  return run(["run", ...at, "--yes", "--wait", "0", "--watch", "0", ...more]);
}

export function isRefused(ran: Ran, why: RegExp, code = "N2I-E328"): void {
  assertRefusal({ ...ran, out: "", err: ran.err.slice(ran.err.indexOf("ERROR ")) }, 4, code, why);
}

/** Conductors start, and take every machine over. */
export async function conductorsStart({ ironic }: PlannedCloud): Promise<void> {
  const alive = { hostname: "cond-1", updated_at: "2099-01-01 00:00:00", online: true };
  await ironic.db("conductors").insert({ id: 1, drivers: '["pxe_ipmitool"]', ...alive });
  await ironic.db("nodes").whereNotNull("instance_uuid").update({ conductor_affinity: 1 });
}

export async function computeStarts({ nova, ironic }: Pick<PlannedCloud, "nova" | "ironic">) {
  const none = { vcpus: 0, memory_mb: 0, local_gb: 0, vcpus_used: 0, memory_mb_used: 0 };
  await nova.db("compute_nodes").del();
  for (const id of [1, 2, 3, 4])
    await nova
      .db("compute_nodes")
      .insert({
        ...{ id, service_id: 2 - (id % 2), hypervisor_hostname: caseUuid("node", id), deleted: 0 },
        ...{ ...none, local_gb_used: 0, hypervisor_type: "ironic", hypervisor_version: 1 },
        cpu_info: "",
      });
  await ironic.db("nodes").update({ power_state: "power on" });
}
