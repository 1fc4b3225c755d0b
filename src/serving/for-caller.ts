import { MigrationError } from "../lib/error.ts";
import type { ServedRequest } from "../model/served.ts";
import { checkedAnswer, type RestService } from "../systems/ironic-api/service.ts";
import type { Http } from "../systems/openstack/http.ts";
import { BAREMETAL } from "../systems/openstack/kinds.ts";
import { type Answer, callerSession } from "../systems/openstack/session.ts";
import { requestAgain } from "./tokens.ts";

/** Reads Ironic with the caller's token. @param token null if the service checks no tokens */
export function ironicFor(
  http: Http,
  url: string,
  { globalId, upstream }: Pick<ServedRequest, "globalId" | "upstream">,
  token: string | null,
) {
  const id = { "X-Openstack-Request-Id": globalId };
  const at = { url, kind: BAREMETAL };
  const session =
    token === null
      ? callerSession(http, at, id, [])
      : callerSession(http, at, { ...id, "X-Auth-Token": token }, [token]);
  return {
    /** The status is 0 if the response has another microversion. @param minor null to send none */
    async ask(path: string, minor: number | null): Promise<Answer> {
      const version = minor === null ? null : `1.${minor}`;
      const pinned = version === null ? session : session.at(version);
      const put = (): Promise<Answer> => {
        upstream.calls += 1;
        return pinned.call({ method: "GET", path });
      };
      const answer = await requestAgain(put, ({ status, fault }) => (status === 0 ? fault : ""));
      return version === null ? answer : checkedAnswer(answer, version);
    },
  };
}

/**
 * A read-only Ironic client that uses the caller's token.
 *
 * @param refused called with the status if Ironic refuses the token
 */
export function callersService(
  http: Http,
  service: RestService,
  request: ServedRequest,
  token: string | null,
  refused: (status: 401 | 403) => void,
): RestService {
  const ironic = ironicFor(http, service.session.url, request, token);
  return {
    ...service,
    async ask(path) {
      const { status, body, fault: reason } = await ironic.ask(path, service.minor);
      if (status === 200 && body !== null) return body;
      if (status === 404) return null;
      const denied = status === 401 || status === 403;
      if (denied) refused(status);
      throw new MigrationError(
        denied ? "N2I-E211" : "N2I-E210",
        denied ? `Ironic refuses this token: ${reason}` : `Ironic does not answer: ${reason}`,
      );
    },
  };
}
