import type { TestContext } from "node:test";
import { start } from "../hostile/cli.ts";
import { standInIronic, standInKeystone } from "./stand-ins.ts";

const LISTENING = /listening on (\S+), /;
export const PATH = "/v2.1/os-baremetal-nodes";

export async function running(
  t: TestContext,
  nodes: number,
  more: readonly string[] = [],
  env: { readonly [name: string]: string } = {},
) {
  const [keystone, ironic] = [await standInKeystone(t), await standInIronic(t, nodes)];
  keystone.tokens.set("gAAAA-admin", { roles: ["admin"] });
  const where = ["--keystone-url", keystone.url, "--ironic-url", ironic.url];
  const started = start(["serve", "proxy", "--listen", "127.0.0.1:0", ...where, ...more], { env });
  t.after(() => started.signal("SIGKILL"));
  const [, url = ""] = await started.heard(LISTENING);
  const headers = { "X-Auth-Token": "gAAAA-admin" };
  return { started, keystone, ironic, get: (path = PATH) => fetch(`${url}${path}`, { headers }) };
}
