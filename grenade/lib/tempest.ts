import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Deployment } from "./deployment.ts";
import { forward, startIronicCompute } from "./forward.ts";
import { apart, FRESH, startFresh } from "./fresh.ts";
import { type Outcome, runTempest, type Side } from "./tempest-run.ts";

/**
 * Tempest against the Ironic that machines were carried to, and the same tests against one that was
 * always Ironic. Tests make nodes and servers of their own: of what was carried over they get the
 * free machines.
 */
export async function tempest(deployment: Deployment): Promise<void> {
  const { stack, files, disk, see, acts, tell } = deployment;
  await forward(deployment);
  await keepApart(deployment);
  const fresh = await startFresh(deployment);
  tell("a fresh Ironic is there");
  try {
    const sides: readonly (Side & { readonly url: string })[] = [
      { name: "fresh", catalog: "baremetal-fresh", flavor: FRESH, image: disk, url: fresh.url },
      {
        ...{ name: "migrated", catalog: "baremetal", flavor: "bm", image: disk },
        url: stack.ironic.url,
      },
    ];
    for (const { url, catalog } of sides) await register(deployment, catalog, url);
    // Both at once: a test waits most of its time, and each finds the machine as busy as the other.
    const runs = sides.map(async (side): Promise<void> => {
      const began = Date.now();
      const all = await runTempest(join(files.folder, `tempest-${side.name}`), stack.cloud, side);
      for (const { test, status, seconds } of all)
        acts.push({
          ...{ phase: `tempest ${side.name}`, what: test, server: "", seconds },
          fault: status === "success" || status === "skip" ? null : status,
        });
      tell(`Tempest, ${side.name}: ${summary(all)}, ${Math.round((Date.now() - began) / 1000)} s`);
    });
    for (const one of await Promise.allSettled(runs))
      if (one.status === "rejected") throw one.reason;
  } finally {
    await fresh.stop();
  }
  await see("tested", { ironic: true });
}

/** Its nova-compute leaves the machines of another Ironic alone, as an operator of two says. */
async function keepApart(deployment: Deployment): Promise<void> {
  const { files, fleet, stopCompute } = deployment;
  await stopCompute();
  const more = Object.entries(apart(fleet.host)).map(([name, value]) => `${name} = ${value}\n`);
  const conf = readFileSync(files.novaConf, "utf8");
  writeFileSync(files.novaConf, conf.replace("[ironic]\n", `[ironic]\n${more.join("")}`));
  await startIronicCompute(deployment);
}

async function register({ stack }: Deployment, type: string, url: string): Promise<void> {
  const { api } = stack.cloud;
  const made = await api("identity", "POST", "/services", { service: { type, name: type } });
  // Keystone's answer of its own API.
  const { service } = made.body as { readonly service: { readonly id: string } };
  for (const kind of ["public", "internal", "admin"]) {
    const endpoint = { service_id: service.id, interface: kind, url };
    await api("identity", "POST", "/endpoints", { endpoint });
  }
}

function summary(all: readonly Outcome[]): string {
  const counts = new Map<string, number>();
  for (const { status } of all) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(", ");
}
