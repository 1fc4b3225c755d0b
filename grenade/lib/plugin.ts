import { readFileSync } from "node:fs";
import { dump } from "../../test/lab/cloud/schema.ts";
import { HOST } from "./base.ts";
import type { Deployment } from "./deployment.ts";
import { destroy } from "./destroy.ts";
import { reporting } from "./forward.ts";
import { type Answer, DONE, type Serves, startScripts } from "./scripts.ts";

/** Titles under which claims know a command that is run more than once, or is expected to end otherwise. */
const TITLES: readonly (readonly [option: string, title: string])[] = [
  ["--takeover", "verify-takeover"],
  ["--final", "verify-nova"],
  ["--check", "config-checked"],
];

/**
 * The upgrade by the scripts that a DevStack's Grenade would run, which bring tenants of their own.
 * Which rows and machines were touched is judged by the same claims as the runner's own way.
 */
export async function plugin(deployment: Deployment): Promise<void> {
  const { see, startCompute, stopCompute, tell } = deployment;
  await stopCompute();
  startCompute("legacy");
  await reporting(deployment, HOST);
  const { call, stop } = await startScripts(deployment, servesOf(deployment), tell);
  try {
    await call("resources", "early_create");
    await call("resources", "create");
    await call("resources", "verify", "pre-upgrade");
    await see("before", { ironic: false });
    await call("save");
    await call("shutdown");
    await call("resources", "verify_noapi", "pre-upgrade");
    await call("upgrade");
    await see("after", { ironic: true });
    await call("resources", "verify", "post-upgrade");
    await see("finished", { ironic: true });
    await call("resources", "destroy");
  } finally {
    stop();
  }
  // Those who were there before.
  await destroy(deployment);
}

/** What the functions of a DevStack would do. */
function servesOf(deployment: Deployment): Serves {
  const { product, files, stack, fleet, startCompute, stopCompute } = deployment;
  const stopped = { running: true };
  const known = (service: string): void => {
    if (service !== "nova-compute" && service !== "ironic") throw new Error(`no ${service} here`);
  };
  return {
    run: async (command = "", ...words) => {
      const title = TITLES.find(([option]) => words.includes(option))?.[1] ?? command;
      const { status, out, err } = await product.run(title, [command, ...words]);
      return { status: typeof status === "number" ? status : 1, out, err };
    },
    start: async (service = "") => {
      known(service);
      if (service === "ironic") {
        await stack.ironic.wake();
        return DONE;
      }
      const legacy = /^compute_driver *= *legacy_bm/m.test(readFileSync(files.novaConf, "utf8"));
      startCompute(legacy ? "legacy" : "ironic");
      stopped.running = true;
      await reporting(deployment, fleet.host);
      return DONE;
    },
    stop: async (service = "") => {
      known(service);
      await stopCompute();
      stopped.running = false;
      return DONE;
    },
    stopped: async () => told(!stopped.running),
    running: async () => told(stopped.running),
    save: async (database = "", file = "") => {
      await dump(stack.server, [database], file);
      return DONE;
    },
  };
}

function told(holds: boolean): Answer {
  return { ...DONE, status: holds ? 0 : 1 };
}
