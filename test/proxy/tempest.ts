import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { Cloud } from "../lab/cloud/start.ts";
import { PYTHON } from "../lab/python.ts";

/** Its client, with its provider of tokens, checks each answer against its own schema. */
const ASK = `
import json, sys
from tempest.lib import auth
from tempest.lib.services.compute import baremetal_nodes_client
told = json.load(sys.stdin)
who = auth.KeystoneV3Credentials(username=told["username"], password=told["password"],
    project_name=told["project"], user_domain_id="default", project_domain_id="default")
provider = auth.KeystoneV3AuthProvider(who, told["keystone"])
client = baremetal_nodes_client.BaremetalNodesClient(provider, told["service"], None)
nodes = client.list_baremetal_nodes()["nodes"]
shown = [client.show_baremetal_node(node["id"])["node"] for node in nodes]
json.dump({"nodes": nodes, "shown": shown}, sys.stdout)
`;

export async function tempestAsks(
  { env }: Pick<Cloud, "env">,
  service: string,
): Promise<{ readonly nodes: readonly { readonly id: string }[]; readonly shown: unknown }> {
  const told = {
    ...{ service, keystone: env.OS_AUTH_URL, username: env.OS_USERNAME },
    ...{ password: env.OS_PASSWORD, project: env.OS_PROJECT_NAME },
  };
  // The proxy that it asks is in this process.
  const child = spawn(PYTHON, ["-c", ASK], { stdio: ["pipe", "pipe", "pipe"] });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  child.stdin.end(JSON.stringify(told));
  const [status] = await once(child, "close");
  const [out, err] = await said;
  if (status !== 0) throw new Error(`Tempest's client: ${err.slice(-2000)}`);
  // As ASK writes it.
  return JSON.parse(out);
}
