import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../../grenade/lib/wait.ts";
import { type Ran, run } from "../../hostile/cli.ts";
import { type Tenant, type TwoComputes, WATCHED_SECONDS } from "./two-computes.ts";

export function tool({ url, folder }: TwoComputes, name: string) {
  const at = (file: string, text: string): string => {
    writeFileSync(join(folder, file), text, { mode: 0o600 });
    return `file:${join(folder, file)}`;
  };
  const nova = ["--nova-db", at("nova", url)];
  const own = ["--run", join(folder, name), ...nova];
  const watched = ["--service-down-time", String(WATCHED_SECONDS)];
  return {
    list: () => run(["host", "list", ...nova, "-f", "json"]),
    host: (command: string, ...words: readonly string[]) =>
      run(["host", command, ...own, ...(command === "takeover" ? watched : []), ...words]),
    verify: () => run(["verify", ...own, "--queue-purged"]),
    back: () => run(["rollback", ...own, "--all", "--yes"]),
  };
}

/** Empties a host's queue, as `rabbitmqctl purge_queue` does. @returns how many messages were in it */
export async function purged({ stack: { broker } }: TwoComputes, host: string): Promise<number> {
  const { origin, username, password } = new URL(broker.management ?? "");
  const headers = { Authorization: `Basic ${btoa(`${username}:${password}`)}` };
  const queue = `${origin}/api/queues/%2F/compute.${host}`;
  const count = async (): Promise<number> => {
    const answer = await fetch(queue, { headers });
    // RabbitMQ's own form.
    return ((await answer.json()) as { readonly messages: number }).messages;
  };
  const before = await count();
  await fetch(`${queue}/contents`, { method: "DELETE", headers });
  // The broker counts every five seconds.
  await until(`the queue of ${host} is empty`, async () => {
    const messages = await count();
    return messages === 0 ? null : `${messages} messages wait`;
  });
  return before;
}

export function ended(ran: Ran, status: number, ...saying: readonly (RegExp | string)[]): Ran {
  const all = `${ran.out}${ran.err}`;
  assert.equal(ran.status, status, all);
  for (const words of saying)
    if (typeof words === "string") assert.ok(all.includes(words), `${words}\n${all}`);
    else assert.match(all, words);
  return ran;
}

export async function servers({ nova }: TwoComputes, tenants: readonly Tenant[]) {
  const rows: readonly { uuid: string; host: string; node: string; launched_on: string }[] =
    await nova("instances")
      .whereIn(
        "uuid",
        tenants.map(({ server }) => server),
      )
      .select("uuid", "host", "node", "launched_on", "task_state", "vm_state");
  return tenants.map(({ server }) => rows.find(({ uuid }) => uuid === server));
}

/** Whose the tenants' machines are by both of Nova's tables. */
export async function owners(cloud: TwoComputes, tenants: readonly Tenant[] = cloud.tenants) {
  const rows = await servers(cloud, tenants);
  const nodes: readonly { host: string; hypervisor_hostname: string }[] = await cloud
    .nova("compute_nodes")
    .where({ deleted: 0 });
  return tenants.map(({ node }, at) => [
    rows[at]?.host,
    nodes.filter(({ hypervisor_hostname }) => hypervisor_hostname === node).map(({ host }) => host),
  ]);
}
