import { createServer } from "node:http";
import { listen } from "./listen.ts";

/**
 * Stands in for Neutron: every collection is empty, no quota is set. Enough for servers without
 * networks, of which Nova asks the ports all the same.
 */
export async function startNetwork(): Promise<{ readonly url: string; readonly stop: () => void }> {
  const server = createServer((request, response) => {
    request.resume();
    const { pathname } = new URL(request.url ?? "/", "http://127.0.0.1");
    const [, , name, id] = pathname.split("/");
    if (name === "quotas") {
      response.writeHead(200, { "Content-Type": "application/json" });
      response.end('{"quota":{"port":-1,"network":-1,"security_group":-1}}');
      return;
    }
    const status = request.method === "DELETE" ? 204 : id === undefined ? 200 : 404;
    response.writeHead(status, { "Content-Type": "application/json" });
    if (status === 204) response.end();
    else if (status === 404)
      response.end('{"NeutronError":{"type":"NotFound","message":"","detail":""}}');
    else if (name === undefined || name === "")
      response.end('{"versions":[{"id":"v2.0","status":"CURRENT"}]}');
    else response.end(JSON.stringify({ [name.replaceAll("-", "_")]: [] }));
  });
  return listen(server);
}
