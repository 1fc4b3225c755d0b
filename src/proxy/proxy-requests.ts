import { MigrationError } from "../lib/error.ts";
import type { Reply, ServedRequest } from "../model/served.ts";
import { whose } from "../serving/caller.ts";
import { ironicFor } from "../serving/for-caller.ts";
import type { Tokens } from "../serving/tokens.ts";
import type { ranges } from "../serving/versions.ts";
import type { Http } from "../systems/openstack/http.ts";
import { BAREMETAL } from "../systems/openstack/kinds.ts";
import { serviceUrl } from "../systems/openstack/session.ts";
import { type IronicRequest, listReply, showReply } from "./proxy-ironic.ts";
import { decide, type ProxyRules } from "./rules/decide.ts";

export interface ProxyParts {
  readonly http: Http;
  /** Null: callers need no token (`--auth none`). */
  readonly tokens: Tokens | null;
  /** Keystone's URL, which a 401 names. */
  readonly keystone: string;
  /** Null: the URL is in the catalog of the caller's token. */
  readonly ironic: string | null;
  readonly ranges: ReturnType<typeof ranges>;
  readonly rules: () => ProxyRules;
}

/** Validates the token, applies the proxy's rules, and reads from Ironic with the same token. */
export function proxyAnswer(proxy: ProxyParts): (asked: ServedRequest) => Promise<Reply> {
  return async (asked) => {
    const who = await whose(proxy, asked);
    if ("status" in who) return who;
    const { token, known } = who;
    const decision = decide(asked, known.owner, proxy.rules());
    if (decision.do === "answer") return decision.reply;
    const found = proxy.ironic ?? known.endpoint;
    if (found === null)
      throw new MigrationError(
        "N2I-E106",
        "the catalog of this token has no such baremetal endpoint",
      );
    const url = serviceUrl(found, "the catalog", BAREMETAL);
    const { globalId: id, upstream } = asked;
    const at: IronicRequest = {
      ironic: ironicFor(proxy.http, url, { token, id, upstream }),
      range: await proxy.ranges.of(url),
      keystone: proxy.keystone,
      fields: decision.fields,
      refused(what) {
        if (what === "version") proxy.ranges.forget(url);
        else if (token !== null) proxy.tokens?.forget(token);
      },
    };
    return decision.do === "list" ? listReply(at) : showReply(at, decision.ident, decision.id);
  };
}
