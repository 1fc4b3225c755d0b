import { TENANT } from "./base.ts";
import type { Deployment } from "./deployment.ts";
import { reservesOnceMore, stopsOnceMore } from "./nova-races.ts";
import { until } from "./wait.ts";
import { working } from "./working.ts";

/** How often nova-compute compares power before it is looked whether anything came of it. */
const SYNCS = 3;
/** Nova's power_state of a machine that is off; of one in maintenance it knows none. */
const SHUTDOWN = 4;

interface ShowableArtifact {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly "OS-EXT-STS:task_state": string | null;
  readonly "OS-EXT-STS:power_state": number;
  readonly "OS-EXT-SRV-ATTR:hypervisor_hostname": string;
  readonly fault?: { readonly message: string };
}

/** Does to servers what tenants do, two of them at a time after the first (`firstAlone`). */
export async function operate(deployment: Deployment, phase: string): Promise<void> {
  const [first = "", second = ""] = await ids(deployment);
  await actor(deployment, phase)("stop", first, { "os-stop": null }, "SHUTOFF", false);
  await Promise.all([continuesAfter(deployment, phase, first), gives(deployment, phase, second)]);
  await until("Nova sees that servers are on", () => powerSeen(deployment));
  await deployment.see("operated", { ironic: true });
  const before = deployment.powerSyncs();
  await until("nova-compute compares servers' power with machines'", async () => {
    // One is over when the next begins.
    const over = deployment.powerSyncs() - before - 1;
    return over >= SYNCS ? null : `it did ${over} times`;
  });
  await deployment.see("rested", { ironic: true });
}

/** One who keeps his server. */
async function continuesAfter(
  deployment: Deployment,
  phase: string,
  server: string,
): Promise<void> {
  const act = actor(deployment, phase);
  await act("start", server, { "os-start": null }, "ACTIVE", true);
  await act("reboot", server, { reboot: { type: "HARD" } }, "ACTIVE", true);
  if (deployment.by === "rest") await attachVif(deployment, await nodeOf(deployment, server));
  await act("rebuild", server, { rebuild: { imageRef: deployment.disk } }, "ACTIVE", true);
}

/** One who gives it back, and whose machine another gets. */
async function gives(deployment: Deployment, phase: string, server: string): Promise<void> {
  const freed = await nodeOf(deployment, server);
  const given = await actor(deployment, phase)("delete", server, null, null, false);
  // Else nobody gets it, and minutes pass until that is said.
  if (given) await make(deployment, phase, freed);
}

/** Stops and starts one server: what a tenant may do at any time, also on the way back. */
export async function stopAndStart(deployment: Deployment, phase: string): Promise<void> {
  const [first = ""] = await ids(deployment);
  const act = actor(deployment, phase);
  await act("stop", first, { "os-stop": null }, "SHUTOFF", false);
  await act("start", first, { "os-start": null }, "ACTIVE", true);
}

/** A tenant deletes the last server. */
export async function deleteServer(deployment: Deployment, phase: string): Promise<void> {
  const last = (await ids(deployment)).at(-1) ?? "";
  await actor(deployment, phase)("delete", last, null, null, false);
}

/** Asks for one thing and waits until server and machine are as asked, whether they are; what came of it is kept. */
function actor({ stack, observer, acts, tell }: Deployment, phase: string) {
  return async (
    what: string,
    server: string,
    body: object | null,
    status: string | null,
    on: boolean,
  ): Promise<boolean> => {
    const { asks } = stack;
    const show = async () =>
      (await asks<{ readonly server: ShowableArtifact }>("nova", "GET", `/servers/${server}`))
        ?.server ?? null;
    const node = (await show())?.["OS-EXT-SRV-ATTR:hypervisor_hostname"] ?? "";
    const began = Date.now();
    const done = async (): Promise<string | null> => {
      const busy = await working(stack, server);
      if (busy !== null) return busy;
      const now = await show();
      const [is, task] = [now?.status ?? null, now?.["OS-EXT-STS:task_state"] ?? null];
      if (is === "ERROR") throw new Error(`${server} is in ERROR: ${now?.fault?.message}`);
      const power = observer.power(node);
      if (is === status && task === null && power === on) return null;
      return `it is ${is}, ${task}, its machine ${power ? "on" : "off"}`;
    };
    const path = `/servers/${server}`;
    const ask = () =>
      body === null ? asks("nova", "DELETE", path) : asks("nova", "POST", `${path}/action`, body);
    const fault = await until(`${what} is accepted`, () => ask().then(() => null, stopsOnceMore))
      .then(() => until(what, done))
      .then(() => null)
      .catch((cause: Error) => cause.message);
    const seconds = (Date.now() - began) / 1000;
    acts.push({ phase, what, server, fault, seconds });
    tell(`${what}: ${fault ?? `${seconds.toFixed(1)} s`}`);
    return fault === null;
  };
}

/**
 * Ironic's API does not take what VIF a machine has (N2I-D754), and Ironic rebuilds none without: what
 * the finding has an operator do before.
 */
async function attachVif({ stack, tell }: Deployment, node: string): Promise<void> {
  const all = await stack.asks<{
    readonly ports: readonly { readonly extra: { readonly nova_bm?: { vif_port_id?: string } } }[];
  }>(...(["ironic", "GET", `/ports/detail?node=${node}`] as const));
  for (const { extra } of all?.ports ?? []) {
    const id = extra.nova_bm?.vif_port_id;
    if (id !== undefined) await stack.asks("ironic", "POST", `/nodes/${node}/vifs`, { id });
    tell(`VIF ${id} attached`);
  }
}

/** A new server on a machine that a tenant gave back. */
async function make(deployment: Deployment, phase: string, node: string): Promise<void> {
  const { stack, disk: image, network, acts, fleet, tell } = deployment;
  const began = Date.now();
  const work = async (times: number): Promise<void> => {
    await until("the machine is free again", async () => {
      const all = await stack.asks<{ readonly allocation_requests: readonly object[] }>(
        ...(["placement", "GET", "/allocation_candidates?resources=CUSTOM_BM:1"] as const),
      );
      return JSON.stringify(all).includes(node) ? null : "Placement does not offer it";
    });
    const server = {
      ...{ name: "newcomer", flavorRef: "bm", imageRef: image, networks: [{ uuid: network }] },
      ...{ host: fleet.host, hypervisor_hostname: node },
    };
    const made = await stack.asks<{ readonly server: { readonly id: string } }>(
      ...(["nova", "POST", "/servers", { server }] as const),
    );
    const id = made?.server.id ?? "";
    const active = until("the new server is ACTIVE", async () => {
      const busy = await working(stack, id);
      if (busy !== null) return busy;
      const now = await stack.asks<{ readonly server: ShowableArtifact }>(
        ...(["nova", "GET", `/servers/${id}`] as const),
      );
      const { status, fault } = now?.server ?? { status: "gone" };
      if (status === "ERROR") throw new Error(`it is in ERROR: ${fault?.message}`);
      return status === "ACTIVE" ? null : `it is ${status}`;
    });
    const lost = await active.then(
      () => null,
      (cause: Error) => reservesOnceMore(cause, times),
    );
    if (lost === null) return;
    tell(`new server: ${lost} It is deleted, and asked for again`);
    await stack.asks("nova", "DELETE", `/servers/${id}`);
    await until("the server in ERROR is gone", async () => {
      const left = await stack.asks("nova", "GET", `/servers/${id}`);
      return left === null ? null : "Nova still has it";
    });
    await work(times + 1);
  };
  const fault = await work(1).then(
    () => null,
    (cause: Error) => cause.message,
  );
  const seconds = (Date.now() - began) / 1000;
  acts.push({ phase, what: "new server", server: node, fault, seconds });
  tell(`new server: ${fault ?? `${seconds.toFixed(1)} s`}`);
}

/**
 * A power sync amid the end of a deploy writes that a new server's machine is off, which the next takes back
 * (seen on Nova 26.2): servers are only at rest after that.
 */
async function powerSeen(deployment: Deployment): Promise<string | null> {
  const off = (await servers(deployment)).filter(
    (server) => server.status === "ACTIVE" && server["OS-EXT-STS:power_state"] === SHUTDOWN,
  );
  return off.length === 0 ? null : `off are ${off.map(({ id }) => id).join(", ")}`;
}

/** Of servers that tenants use, by name. */
async function ids(deployment: Deployment): Promise<readonly string[]> {
  return (await servers(deployment))
    .filter(({ name }) => name.startsWith(TENANT))
    .toSorted((one, other) => one.name.localeCompare(other.name))
    .map(({ id }) => id);
}

async function servers({ stack }: Deployment): Promise<readonly ShowableArtifact[]> {
  const all = await stack.asks<{ readonly servers: readonly ShowableArtifact[] }>(
    ...(["nova", "GET", "/servers/detail?all_tenants=1"] as const),
  );
  return all?.servers ?? [];
}

async function nodeOf({ stack }: Deployment, server: string): Promise<string> {
  const now = await stack.asks<{ readonly server: ShowableArtifact }>(
    ...(["nova", "GET", `/servers/${server}`] as const),
  );
  return now?.server["OS-EXT-SRV-ATTR:hypervisor_hostname"] ?? "";
}
