import { once } from "node:events";
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { join, normalize } from "node:path";

/** Serves Ironic's http_root, as the operator's web server on a conductor does. */
export async function startImages(): Promise<{
  readonly url: string;
  /** Says where the folder is, once Ironic has made it. */
  readonly serve: (folder: string) => void;
  readonly stop: () => void;
}> {
  let root: string | null = null;
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://127.0.0.1");
    const path = root === null ? "" : join(root, normalize(pathname));
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isFile() !== true) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "Content-Length": found.size });
    if (request.method === "HEAD") response.end();
    else createReadStream(path).pipe(response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return {
    url: `http://127.0.0.1:${address.port}`,
    serve: (folder) => {
      root = folder;
    },
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
