import { MigrationError } from "../../lib/error.ts";
import { isObject, type JsonObject, objectOf } from "../../lib/json.ts";
import { type Answer, ask, type ServiceSession } from "./session.ts";

/** All fields of a port, or null. @throws MigrationError N2I-E210 to N2I-E212 */
export async function whole(session: ServiceSession, id: string): Promise<JsonObject | null> {
  const body = await ask(session, `/v2.0/ports/${encodeURIComponent(id)}`);
  if (body === null) return null;
  const { port } = objectOf(body);
  if (isObject(port)) return port;
  throw new MigrationError(
    "N2I-E212",
    `${session.url} answered GET /v2.0/ports/${id} without the port; is a proxy in between?`,
  );
}

/** Neutron refuses the PUT if the port changed since it was read. */
export async function put(
  session: ServiceSession,
  id: string,
  port: JsonObject,
  revision: unknown,
): Promise<Answer> {
  const answer = await session.call({
    ...{ method: "PUT", path: `/v2.0/ports/${encodeURIComponent(id)}`, body: { port } },
    ...(typeof revision === "number" && {
      fields: { "If-Match": `revision_number=${revision}` },
    }),
  });
  return answer.status === 412 ? { ...answer, status: 409 } : answer;
}
