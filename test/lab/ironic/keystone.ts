import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTls } from "node:https";
import type { TestContext } from "node:test";
import type { Pair } from "../../support/certificates.ts";
import { listening } from "../../support/listening.ts";

/**
 * Gives a token for every login whose secret is right, with a catalog of one baremetal service.
 * @source Keystone's API reference, v3: POST /v3/auth/tokens
 */
export async function fakeKeystone(
  t: Pick<TestContext, "after">,
  secret: string,
  baremetal: string,
  pair: Pair | null = null,
) {
  const asked: string[] = [];
  const tokens: string[] = [];
  let faltering = 0;
  const answers = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      asked.push(text);
      if (faltering > 0) {
        faltering -= 1;
        response.writeHead(503).end();
        return;
      }
      const give = (status: number, body: unknown, headers = {}): void => {
        response.writeHead(status, { "content-type": "application/json", ...headers });
        response.end(JSON.stringify(body));
      };
      if (request.url !== "/v3/auth/tokens") return give(404, { error: { message: "not here" } });
      if (!text.includes(`"${secret}"`))
        return give(401, { error: { code: 401, message: `no such login: ${text}` } });
      tokens.push(`token-${tokens.length + 1}`);
      const endpoint = (region: string, url: string) => ({
        interface: "internal",
        region_id: region,
        region,
        url,
      });
      const endpoints = [
        endpoint("other", "http://127.0.0.1:9"),
        endpoint("lab", `${baremetal}/v1`),
      ];
      return give(
        201,
        { token: { catalog: [{ type: "baremetal", name: "ironic", endpoints }] } },
        { "x-subject-token": tokens.at(-1) },
      );
    });
  };
  const server = pair === null ? createServer(answers) : createTls(pair, answers);
  return {
    url: await listening(t, server),
    asked: () => asked,
    tokens: () => tokens,
    /** Answers so many next questions with 503. */
    falter: (times: number) => {
      faltering = times;
    },
  };
}
