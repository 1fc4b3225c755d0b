import type { TestContext } from "node:test";
import { faultyService, type Says } from "../../support/faulty-service.ts";

/** What a stand-in says to GET, by path without its query; what is not there is an empty object. */
type Lists = { readonly [path: string]: () => object };

/** Drivers and one conductor that has them. */
export function conductor(driver: string, alive: () => boolean = () => true): Lists {
  const lab = { hostname: "lab", conductor_group: "", drivers: [driver] };
  return {
    "/v1/drivers": () => ({ drivers: alive() ? [{ name: driver, hosts: ["lab"] }] : [] }),
    "/v1/conductors": () => ({ conductors: [{ ...lab, alive: alive() }] }),
  };
}

/** Stands in for an Ironic 2023.1 that answers questions and refuses all else. */
export async function standIn(t: TestContext, lists: Lists): Promise<string> {
  const answer = (call: string): Says => {
    const [method, path = ""] = call.split(/[ ?]/);
    if (method !== "GET") return { status: 400, text: '{"error_message": "not today"}' };
    return { status: 200, text: JSON.stringify(lists[path]?.() ?? {}) };
  };
  return (await faultyService(t, { most: 82, answer })).url;
}
