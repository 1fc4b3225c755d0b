import type { Deployment } from "./deployment.ts";
import { commandsOf } from "./forward.ts";
import { traces } from "./traces.ts";
import { until } from "./wait.ts";

/**
 * The end of the deployment: the operator gives back the machines that were in doubt, tenants delete
 * every server, and then it is looked for what the tool may have left anywhere.
 */
export async function destroy(deployment: Deployment): Promise<void> {
  await acted(deployment, "give doubtful machines back", () => giveBack(deployment));
  await acted(deployment, "delete all servers", () => deleteServers(deployment));
  await acted(deployment, "leave nothing", async () => {
    const left = await traces(deployment.stack);
    if (left.length > 0) throw new Error(left.join("; "));
  });
  await acted(deployment, "end the run", async () => {
    const { out, err } = await commandsOf(deployment)("status", "status");
    if (!`${out}${err}`.includes("this run is done")) throw new Error(err.trim());
  });
  await deployment.see("destroyed", { ironic: true });
}

/** What came of one step is an act, which claims are judged by. */
async function acted(
  { acts, tell }: Deployment,
  what: string,
  does: () => Promise<void>,
): Promise<void> {
  const began = Date.now();
  const fault = await does().then(
    () => null,
    (cause: Error) => cause.message,
  );
  const seconds = (Date.now() - began) / 1000;
  acts.push({ phase: "destroy", what, server: "", fault, seconds });
  tell(`${what}: ${fault ?? `${seconds.toFixed(1)} s`}`);
}

async function deleteServers({ stack, observer }: Deployment): Promise<void> {
  const list = async () => {
    const all = await stack.asks<{ readonly servers: readonly { readonly id: string }[] }>(
      "nova",
      "GET",
      "/servers/detail?all_tenants=1",
    );
    return all?.servers ?? [];
  };
  for (const { id } of await list()) await stack.asks("nova", "DELETE", `/servers/${id}`);
  await until("all servers are gone", async () => {
    const there = await list();
    return there.length === 0 ? null : `${there.length} are there, ${there[0]?.id} first`;
  });
  const nodes = stack.db(stack.ironic.database)("nodes");
  await until("Ironic has every machine back", async () => {
    const rows: readonly { readonly uuid: string; readonly provision_state: string }[] = await nodes
      .clone()
      .select("uuid", "provision_state");
    const wrong = rows.filter(
      ({ uuid, provision_state }) => provision_state !== "available" || observer.power(uuid),
    );
    return wrong.length === 0 ? null : `${wrong.length} are in use, ${wrong[0]?.uuid} first`;
  });
}

/** What the plan held in maintenance: somebody has looked, it is free, and `finish` lets it be cleaned. */
async function giveBack(deployment: Deployment): Promise<void> {
  const { stack } = deployment;
  const nodes = stack.db(stack.ironic.database)("nodes");
  const held: readonly { readonly uuid: string; readonly provision_state: string }[] = await nodes
    .clone()
    .where({ maintenance: true });
  for (const { uuid } of held) await stack.asks("ironic", "DELETE", `/nodes/${uuid}/maintenance`);
  await commandsOf(deployment)("finish-again", "finish");
  for (const { uuid, provision_state } of held)
    if (provision_state === "manageable")
      await stack.asks("ironic", "PUT", `/nodes/${uuid}/states/provision`, { target: "provide" });
  await until("they are at hand, and their power is known", async () => {
    const rows: readonly unknown[] = await nodes
      .clone()
      .where({ provision_state: "manageable" })
      .orWhereNull("power_state");
    return rows.length === 0 ? null : `${rows.length} are not`;
  });
}
