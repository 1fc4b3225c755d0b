import { createServer } from "node:http";
import type { TestContext } from "node:test";
import { listening } from "../../support/listening.ts";

/** What a stand-in says to GET, by path without its query; what is not there is an empty object. */
export type Lists = { readonly [path: string]: () => object };

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
  const server = createServer((asked, answer) => {
    const version = asked.headers["x-openstack-ironic-api-version"];
    asked.resume();
    answer.writeHead(asked.method === "GET" ? 200 : 400, {
      "X-OpenStack-Ironic-API-Minimum-Version": "1.1",
      "X-OpenStack-Ironic-API-Maximum-Version": "1.82",
      ...(version !== undefined && { "X-OpenStack-Ironic-API-Version": version }),
    });
    const [path = ""] = (asked.url ?? "").split("?");
    const said = asked.method === "GET" ? (lists[path]?.() ?? {}) : { error_message: "not today" };
    answer.end(JSON.stringify(said));
  });
  return listening(t, server);
}
