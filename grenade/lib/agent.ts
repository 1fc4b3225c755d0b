import { createServer, type IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Knex } from "knex";
import type { IpmiSim } from "../../test/lab/bmc/sims.ts";
import { listen } from "./listen.ts";

const LOOK_MS = 500;
/** In these states Ironic waits for its ramdisk. */
const WAITING = ["wait call-back", "clean wait"];
/** Ironic gives the token once; then it shows stars. */
const MASKED = "******";

interface Machine {
  readonly uuid: string;
  readonly power: () => boolean;
  readonly setPower: (on: boolean) => void;
}

interface Command {
  readonly command_name: string;
  readonly command_params: unknown;
  readonly command_status: "SUCCEEDED";
  readonly command_error: null;
  readonly command_result: unknown;
}

/** A step that is only done when it is asked for; an agent with none is asked for them each time. */
const STEPS = {
  GenericHardwareManager: [
    { step: "write_nothing", priority: 0, interface: "deploy", reboot_requested: false },
  ],
};

/** What answers a deploy command. Writes no disk. */
const RESULTS: { readonly [name: string]: ((params: Params) => unknown) | undefined } = {
  "deploy.get_deploy_steps": () => ({ deploy_steps: STEPS, hardware_manager_version: {} }),
  "clean.get_clean_steps": () => ({ clean_steps: STEPS, hardware_manager_version: {} }),
  "deploy.execute_deploy_step": ({ step }) => ({ deploy_result: "written", deploy_step: step }),
  "clean.execute_clean_step": ({ step }) => ({ clean_result: "clean", clean_step: step }),
  "standby.get_partition_uuids": () => ({ "root uuid": "6f0ed4a2-2f3a-4b8e-9d58-3f7ef2a1c001" }),
};

interface Params {
  readonly step?: unknown;
}

export interface Agents {
  readonly stop: () => Promise<void>;
}

/**
 * Stands in for the deploy ramdisk of every machine: where a machine is on and Ironic waits for its
 * agent, one reports and says of each command that it is done.
 *
 * @param waiting uuids of nodes in one of these states
 * @source ironic: api/controllers/v1/ramdisk.py, drivers/modules/agent_client.py
 */
export async function startAgents(
  ironic: string,
  machines: readonly Machine[],
  waiting: (states: readonly string[]) => Promise<readonly string[]>,
): Promise<Agents> {
  const done = new Map<string, Command[]>();
  const server = createServer(async (request, response) => {
    const [, uuid = ""] = (request.url ?? "").split("/");
    const commands = done.get(uuid) ?? [];
    done.set(uuid, commands);
    const asked = request.method === "POST" ? await jsonOf(request) : null;
    const answer = asked === null ? { commands } : command(asked.name, asked.params);
    if (asked !== null) commands.push(command(asked.name, asked.params));
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify(answer));
    // The ramdisk switches its own machine off, not the BMC by a command.
    if (asked?.name === "standby.power_off") machineOf(machines, uuid)?.setPower(false);
  });
  const { url, stop } = await listen(server);
  const callback = (uuid: string): string => `${url}/${uuid}`;
  const stopping = new AbortController();
  const watched = watch(ironic, machines, waiting, { callback, done, signal: stopping.signal });
  return {
    stop: async () => {
      stopping.abort();
      await watched;
      stop();
    },
  };
}

/** Reports of each machine whose agent would run, until it is told to stop. */
async function watch(
  ironic: string,
  machines: readonly Machine[],
  waiting: (states: readonly string[]) => Promise<readonly string[]>,
  own: {
    readonly callback: (uuid: string) => string;
    readonly done: Map<string, Command[]>;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const tokens = new Map<string, string>();
  while (!own.signal.aborted) {
    await sleep(LOOK_MS);
    const there = await waiting(WAITING).catch(() => []);
    for (const uuid of there) {
      if (machineOf(machines, uuid)?.power() !== true) continue;
      const given = await lookUp(ironic, uuid);
      if (given === null) continue;
      // A new token: the ramdisk was booted anew, and knows nothing of earlier commands.
      if (given !== MASKED) {
        tokens.set(uuid, given);
        own.done.set(uuid, []);
      }
      await beat(ironic, uuid, own.callback(uuid), tokens.get(uuid) ?? "");
    }
  }
}

const VERSION = { "X-OpenStack-Ironic-API-Version": "1.68", "Content-Type": "application/json" };

async function lookUp(ironic: string, uuid: string): Promise<string | null> {
  const answer = await fetch(`${ironic}/v1/lookup?node_uuid=${uuid}`, { headers: VERSION });
  if (!answer.ok) return null;
  // Ironic's own form.
  const found = (await answer.json()) as { readonly config: { readonly agent_token: string } };
  return found.config.agent_token;
}

async function beat(
  ironic: string,
  uuid: string,
  callback_url: string,
  agent_token: string,
): Promise<void> {
  await fetch(`${ironic}/v1/heartbeat/${uuid}`, {
    method: "POST",
    headers: VERSION,
    body: JSON.stringify({ callback_url, agent_version: "9.1.0", agent_token }),
  });
}

function command(name: string, params: Params): Command {
  return {
    command_name: name.split(".").at(-1) ?? name,
    command_params: params,
    command_status: "SUCCEEDED",
    command_error: null,
    command_result: RESULTS[name]?.(params) ?? null,
  };
}

async function jsonOf(request: IncomingMessage): Promise<{ name: string; params: Params }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  // Ironic wrote it.
  return JSON.parse(Buffer.concat(chunks).toString()) as { name: string; params: Params };
}

/** Which nodes of this Ironic's database are in one of these states. */
export function waitingIn(db: Knex) {
  return async (states: readonly string[]): Promise<readonly string[]> => {
    const rows: readonly { uuid: string }[] = await db("nodes").whereIn("provision_state", states);
    return rows.map(({ uuid }) => uuid);
  };
}

function machineOf(machines: readonly Machine[], uuid: string): Machine | undefined {
  return machines.find((one) => one.uuid === uuid);
}

/** The machines of a simulator, in its order. */
export function machinesOf(sim: IpmiSim, order: readonly string[]): readonly Machine[] {
  return order.map((uuid, at) => ({
    uuid,
    power: () => sim.power(at),
    setPower: (on) => sim.setPower(at, on),
  }));
}
