import { until } from "../../../grenade/lib/wait.ts";
import { type Api, apiOf } from "./api.ts";

type Body = { readonly [field: string]: unknown };

/** Calls of a real Ironic that change nodes, and waiting for their effect. */
export function telling(ironic: Api) {
  const api = apiOf(ironic);
  /** Repeats a call while a conductor that reads the node's power has its lock (409). */
  const tell = async (method: string, path: string, body?: unknown): Promise<Body> => {
    let told: Body = {};
    await until(`Ironic accepts ${method} ${path}`, async () => {
      const answer = await api(method, path, body);
      const text = JSON.stringify(answer.body);
      if (answer.status === 409) return text;
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      // The API's own form.
      told = (answer.body ?? {}) as Body;
      return null;
    });
    return told;
  };
  const becomes = async (node: string, wanted: Body): Promise<Body> => {
    let now: Body = {};
    await until(`node ${node} is ${JSON.stringify(wanted)}`, async () => {
      now = await tell("GET", `/v1/nodes/${node}`);
      if (Object.entries(wanted).every(([field, value]) => now[field] === value)) return null;
      const fields = [...Object.keys(wanted), "provision_state", "power_state", "last_error"];
      return fields.map((field) => `${field} ${String(now[field])}`).join(", ");
    });
    return now;
  };
  const goes = async (node: string, target: string, state: string): Promise<void> => {
    await tell("PUT", `/v1/nodes/${node}/states/provision`, { target });
    await becomes(node, { provision_state: state, reservation: null });
  };
  const power = async (node: string, target: string): Promise<void> => {
    await tell("PUT", `/v1/nodes/${node}/states/power`, { target });
    await becomes(node, { power_state: target, reservation: null });
  };
  return { tell, becomes, goes, power };
}
