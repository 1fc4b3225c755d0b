import { createServer } from "node:http";
import type { TestContext } from "node:test";
import { listening } from "../support/listening.ts";

/** Stands before a real Ironic, and sees what it is asked. */
export interface Front {
  readonly url: string;
  /** Since the last look. */
  readonly calls: () => readonly { readonly path: string; readonly token: unknown }[];
  /** Before a question goes on. */
  before: (path: string) => Promise<void>;
}

export async function front(t: Pick<TestContext, "after">, ironic: string): Promise<Front> {
  const calls: { readonly path: string; readonly token: unknown }[] = [];
  const own = {
    ...{ url: "", calls: () => calls.splice(0), before: async (_path: string) => undefined },
  } as Front & { url: string };
  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    calls.push({ path, token: request.headers["x-auth-token"] });
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
