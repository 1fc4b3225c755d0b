import { setTimeout as sleep } from "node:timers/promises";
import { said } from "./measure.ts";

interface Machine {
  readonly uuid: string;
  readonly instance_uuid: string;
  readonly address: string;
}

const LOOK_MS = 60;

/**
 * The calls of an adoption and nothing else: no journal, no comparison, no second try.
 *
 * @param parallel machines at once
 */
export async function bareLoop(
  url: string,
  machines: readonly Machine[],
  parallel: number,
): Promise<void> {
  const call = (method: string, path: string, body?: unknown) =>
    said(method, `${url}${path}`, body);
  const until = async (uuid: string, state: string): Promise<void> => {
    for (;;) {
      await sleep(LOOK_MS);
      const text = await call("GET", `/v1/nodes/${uuid}?fields=provision_state,last_error`);
      if (text.includes(`"${state}"`)) return;
    }
  };
  const one = async ({ uuid, instance_uuid, address }: Machine): Promise<void> => {
    const extra = { nova_bm: { id: 1 } };
    const fake = { driver: "fake-hardware", boot_interface: "fake", deploy_interface: "fake" };
    const node = { uuid, instance_uuid, extra, ...fake, automated_clean: false };
    await call("POST", "/v1/nodes", node);
    await call("POST", "/v1/ports", { node_uuid: uuid, address });
    await call("PUT", `/v1/nodes/${uuid}/states/provision`, { target: "manage" });
    await until(uuid, "manageable");
    await call("PUT", `/v1/nodes/${uuid}/states/provision`, { target: "adopt" });
    await until(uuid, "active");
    const patch = [{ op: "add", path: "/protected", value: true }];
    await call("PATCH", `/v1/nodes/${uuid}`, patch);
  };
  const waiting = [...machines];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await one(next);
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}
