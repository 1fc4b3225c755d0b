import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { join, normalize } from "node:path";
import { listen } from "./listen.ts";

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
  });
  return {
    ...(await listen(server)),
    serve: (folder) => {
      root = folder;
    },
  };
}
