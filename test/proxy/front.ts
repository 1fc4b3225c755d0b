import { createServer } from "node:http";
import type { TestContext } from "node:test";
import { listening } from "../support/listening.ts";

/** Stands before a real Ironic. */
export interface Front {
  readonly url: string;
  /** Done before a question goes on. */
  before: (path: string) => Promise<void>;
}

export async function front(t: Pick<TestContext, "after">, ironic: string): Promise<Front> {
  const own = { url: "", before: async (_path: string): Promise<void> => undefined };
  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    await own.before(path);
    const sent = ["x-auth-token", "x-openstack-ironic-api-version", "accept"] as const;
    const headers = Object.fromEntries(
      sent.flatMap((name) =>
        name in request.headers ? [[name, String(request.headers[name])]] : [],
      ),
    );
    const answer = await fetch(`${ironic}${path}`, { headers });
    const kept = [...answer.headers].filter(([name]) => /^(content-type|x-openstack)/i.test(name));
    response.writeHead(answer.status, Object.fromEntries(kept)).end(await answer.text());
  });
  own.url = await listening(t, server);
  return own;
}
