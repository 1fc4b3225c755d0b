import { stopsOnceMore } from "../../../grenade/lib/nova-races.ts";
import type { Stack } from "../../../grenade/lib/stack.ts";
import { until } from "../../../grenade/lib/wait.ts";
import { NOVA_DATABASES } from "../../lab/cloud/nova.ts";

type Cloud = Pick<Stack, "asks" | "db">;

interface Switchable {
  readonly server: string;
  readonly name?: string;
  /** Its BMC has it on. */
  readonly on: () => boolean;
}

/** Its tenant stops a server of a real Nova, and starts it again: each waits until it and its machine are. */
export async function stopAndStart(stack: Cloud, { server, name = server, on }: Switchable) {
  for (const [word, isOn, vm_state] of [
    ["stop", false, "stopped"],
    ["start", true, "active"],
  ] as const) {
    await asked(stack, server, word);
    await until(`${name} is ${vm_state}`, async () => {
      const instances = stack.db(NOVA_DATABASES.cell)("instances").where({ uuid: server });
      const now = await instances.first("vm_state", "task_state");
      const isDone = now.vm_state === vm_state && now.task_state === null && on() === isOn;
      return isDone ? null : JSON.stringify({ ...now, on: on() });
    });
  }
}

/** Asks Nova to switch a server, again while Nova stops it once more by itself, and no more. */
export async function asked({ asks }: Pick<Stack, "asks">, server: string, to: "stop" | "start") {
  await until(`Nova takes os-${to}`, () =>
    asks("nova", "POST", `/servers/${server}/action`, { [`os-${to}`]: null }).then(
      () => null,
      stopsOnceMore,
    ),
  );
}
