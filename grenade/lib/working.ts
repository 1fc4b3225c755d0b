import { NOVA_DATABASES } from "../../test/lab/cloud/nova.ts";
import type { Stack } from "./stack.ts";

/**
 * What Nova is still doing with a server, by its databases: its API, which asks Neutron each time, costs
 * a third of a processor when it is asked again and again. Null when the API is worth asking.
 */
export async function working(
  { db, ironic }: Pick<Stack, "db" | "ironic">,
  server: string,
): Promise<string | null> {
  const row = await db(NOVA_DATABASES.cell)("instances")
    .where({ uuid: server })
    .first("vm_state", "task_state", "deleted");
  if (row === undefined) {
    // Of one without a machine this is the end; of any other, the scheduler is not done.
    const lost = await db(NOVA_DATABASES.cell0)("instances").where({ uuid: server }).first("id");
    return lost === undefined ? "no cell has it" : null;
  }
  const { vm_state, task_state, deleted } = row;
  if (deleted !== 0 || (task_state === null && vm_state !== "building")) return null;
  // A deployment has many steps in one state of Nova: that of its node, and when it changed, are its progress.
  const node = await db(ironic.database)("nodes")
    .where({ instance_uuid: server })
    .first("provision_state", "updated_at");
  const step = node === undefined ? "" : `; its node ${node.provision_state}, ${node.updated_at}`;
  return `it is ${vm_state}, ${task_state}${step}`;
}
