import type { ServedRequest } from "../model/served.ts";
import { checkedAnswer } from "../systems/ironic-api/service.ts";
import type { Http } from "../systems/openstack/http.ts";
import { BAREMETAL } from "../systems/openstack/kinds.ts";
import { type Answer, callerSession } from "../systems/openstack/session.ts";
import { requestAgain } from "./tokens.ts";

interface InName {
  readonly token: string | null;
  /** `req-UUID`. */
  readonly id: string;
  /** Counts the calls. */
  readonly upstream: ServedRequest["upstream"];
}

export function ironicFor(http: Http, url: string, { token, id, upstream }: InName) {
  const headers = {
    "X-Openstack-Request-Id": id,
    ...(token !== null && { "X-Auth-Token": token }),
  };
  const session = callerSession(
    http,
    { url, kind: BAREMETAL },
    headers,
    token === null ? [] : [token],
  );
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
