import { login } from "../../test/lab/cloud/register.ts";
import { freePort } from "../../test/lab/daemon.ts";
import { newPassword } from "../../test/lab/server.ts";
import type { Deployment } from "./deployment.ts";
import type { Listed } from "./seen.ts";

/**
 * Has the tool's proxy answer `os-baremetal-nodes` in Nova's place, and asks it for all machines as an
 * administrator, as a user who is a member of a project and no more, and without a token.
 */
export async function askProxy(deployment: Deployment): Promise<void> {
  const { stack, product, listed } = deployment;
  const { OS_AUTH_URL: keystone = "", OS_PASSWORD: password = "" } = stack.cloud.env;
  const address = `127.0.0.1:${await freePort()}`;
  const urls = ["--keystone-url", keystone, "--ironic-url", stack.ironic.url];
  await product.run("proxy", ["serve", "proxy", "--listen", address, ...urls], {
    serves: "listening on",
    meanwhile: async () => {
      const tokens = [
        ["an administrator", await login(keystone, password)],
        ["a member", await memberToken(deployment, keystone)],
        ["nobody", null],
      ] as const;
      for (const [who, token] of tokens) listed.push(await list(address, who, token));
    },
  });
}

/** Of a new user in the operator's own project. */
async function memberToken({ stack }: Deployment, keystone: string): Promise<string> {
  const asks = async (method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await stack.cloud.api("identity", method, path, body);
    if (answer.status >= 300) throw new Error(`Keystone: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const [name, password] = [`member-${newPassword().slice(0, 8)}`, newPassword()];
  // Keystone's answers of its own API.
  const { user } = (await asks("POST", "/users", { user: { name, password } })) as {
    readonly user: { readonly id: string };
  };
  const { projects } = (await asks("GET", "/projects?name=admin")) as { readonly projects: Ids };
  const { roles } = (await asks("GET", "/roles?name=member")) as { readonly roles: Ids };
  await asks("PUT", `/projects/${projects[0]?.id}/users/${user.id}/roles/${roles[0]?.id}`);
  return login(keystone, password, name);
}

type Ids = readonly { readonly id: string }[];

async function list(address: string, who: Listed["who"], token: string | null): Promise<Listed> {
  const answer = await fetch(`http://${address}/v2.1/os-baremetal-nodes`, {
    headers: token === null ? {} : { "X-Auth-Token": token },
  });
  // As Nova's API has it.
  const body = (await answer.json()) as {
    readonly nodes?: readonly { readonly id: string; readonly task_state: string }[];
  };
  const nodes = Object.fromEntries((body.nodes ?? []).map((one) => [one.id, one.task_state]));
  return { who, status: answer.status, nodes };
}
