import { until as holds } from "../../grenade/lib/wait.ts";
import { isObject, type Json } from "../../src/lib/json.ts";
import type { Scene } from "./scene.ts";
import { loadedRows } from "./told.ts";

/** Asks again and again until nothing is left to wait for. */
export async function until(what: string, left: () => Promise<readonly string[]>): Promise<void> {
  await holds(what, async () => {
    const still = await left();
    return still.length === 0 ? null : still.join("; ");
  });
}

/**
 * Waits until every machine that was loaded in use and out of maintenance has a conductor, and
 * Ironic says of each one's power what its BMC says.
 */
export async function takenOver({ db, plan, sim }: Scene): Promise<void> {
  const wanted = loadedRows(plan(), "node").filter(({ maintenance }) => maintenance === false);
  const planned = new Map(wanted.map((row) => [String(row.uuid), row]));
  await until("machines nobody took over", async () => {
    const rows = await db("nodes").whereIn("uuid", [...planned.keys()]);
    const late = rows.filter((row) => {
      const { provision_state, driver_info } = planned.get(row.uuid) ?? {};
      const waits = provision_state === "active" && row.conductor_affinity === null;
      return waits || row.power_state !== powerOf(sim, driver_info) || row.reservation !== null;
    });
    return late.map((row) => `${row.uuid} ${row.power_state} ${row.last_error}`);
  });
}

/** Looks at all machines in which a conductor would have found anything to do. */
const ROUNDS = 3;

/** Waits for several rounds of the conductor's takeover and power sync: in each it takes over this machine again. */
export async function rounds({ db }: Pick<Scene, "db">, uuid: string): Promise<void> {
  const node = () => db("nodes").where({ uuid });
  for (let round = 0; round < ROUNDS; round += 1) {
    await node().update({ conductor_affinity: null });
    await until("a machine nobody took over", async () => {
      const [{ conductor_affinity, reservation }] = await node();
      const done = conductor_affinity !== null && reservation === null;
      return done ? [] : [`${conductor_affinity} ${reservation}`];
    });
  }
}

/** As Ironic spells it; null for a machine without a BMC, whose power nobody knows. */
function powerOf(sim: Scene["sim"], info: Json | undefined): string | null {
  const address = info !== undefined && isObject(info) ? info.ipmi_address : null;
  const bmc = sim.addresses.indexOf(String(address));
  return bmc < 0 ? null : sim.power(bmc) ? "power on" : "power off";
}
