import { parsedJson } from "../lib/json.ts";
import { MAXIMUM, MINIMUM, spoken } from "../systems/ironic-api/service.ts";
import type { Http } from "../systems/openstack/http.ts";
import { BAREMETAL } from "../systems/openstack/kinds.ts";
import { type Answer, callerSession } from "../systems/openstack/session.ts";
import { askTwice } from "./tokens.ts";

export interface CallersIronic {
  /** The status is 0 if the response has another microversion. @param minor null to send none */
  readonly ask: (path: string, minor: number | null) => Promise<Answer>;
}

interface SaidVersions {
  readonly minimum: unknown;
  readonly maximum: unknown;
  readonly body: unknown;
}

interface InName {
  readonly token: string | null;
  /** `req-UUID`. */
  readonly id: string;
  readonly calling: () => void;
}

export function ironicFor(http: Http, url: string, { token, id, calling }: InName): CallersIronic {
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
    async ask(path, minor) {
      const version = minor === null ? null : `1.${minor}`;
      const own = version === null ? session : session.at(version);
      const put = (): Promise<Answer> => {
        calling();
        return own.call({ method: "GET", path });
      };
      const answer = await askTwice(put, ({ status, fault }) => (status === 0 ? fault : ""));
      return version === null ? answer : spoken(answer, version);
    },
  };
}

/** Reads the version document, which needs no token. */
export async function versionsAt(
  http: Http,
  url: string,
): Promise<SaidVersions | { readonly why: string }> {
  const answer = await http.send({ method: "GET", url: `${url}/v1/`, headers: {} });
  if ("why" in answer) return answer;
  const { status, headers, text } = answer;
  if (status !== 200) return { why: `it answered ${status}` };
  return { minimum: headers[MINIMUM], maximum: headers[MAXIMUM], body: parsedJson(text) };
}
