import { stopsOnceMore } from "../../grenade/lib/operate.ts";
import type { Stack } from "../../grenade/lib/stack.ts";
import { until } from "../../grenade/lib/wait.ts";
import { NOVA_DATABASES } from "../lab/cloud/nova.ts";

/**
 * Its tenant stops a server of a real Nova, and starts it again.
 *
 * @param on whether its machine is on
 */
export async function stopAndStart(
  { asks, db }: Pick<Stack, "asks" | "db">,
  server: string,
  on: () => boolean,
): Promise<void> {
  for (const [word, isOn, vm_state] of [
    ["os-stop", false, "stopped"],
    ["os-start", true, "active"],
  ] as const) {
    await until(`Nova takes ${word}`, 60, () =>
      asks("nova", "POST", `/servers/${server}/action`, { [word]: null }).then(
        () => null,
        stopsOnceMore,
      ),
    );
    await until(`${word} is done`, 60, async () => {
      const instances = db(NOVA_DATABASES.cell)("instances").where({ uuid: server });
      const now = await instances.first("vm_state", "task_state");
      const isDone = now.vm_state === vm_state && now.task_state === null && on() === isOn;
      return isDone ? null : JSON.stringify({ ...now, on: on() });
    });
  }
}
