import { isObject, type JsonObject, objectOf } from "../../model/json.ts";
import { type Answer, ask, type ServiceSession } from "../openstack/session.ts";

/** A port as Neutron tells it whole; null: there is none. */
export async function whole(session: ServiceSession, id: string): Promise<JsonObject | null> {
  const { port } = objectOf(await ask(session, `/v2.0/ports/${encodeURIComponent(id)}`));
  return isObject(port) ? port : null;
}

/** One PUT, which Neutron itself refuses where somebody else wrote since the look. */
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
