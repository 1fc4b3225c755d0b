import { MigrationError } from "../lib/error.ts";
import { type AskedFor, faultReply, type Reply } from "../model/served.ts";
import { ironicFor } from "../serving/for-caller.ts";
import type { KnownToken, Tokens } from "../serving/tokens.ts";
import type { Http } from "../systems/openstack/http.ts";
import { BAREMETAL } from "../systems/openstack/kinds.ts";
import { serviceUrl } from "../systems/openstack/session.ts";
import { type AskedIronic, listReply, type ranges, showReply, unanswered } from "./proxy-ironic.ts";
import { decide, type ProxyRules, unauthorized } from "./rules/decide.ts";

/** What the proxy answers with. */
export interface ProxyParts {
  readonly http: Http;
  /** Null: nobody is asked whose a token is (`--auth none`). */
  readonly tokens: Tokens | null;
  /** Keystone's, for who has to log in. */
  readonly keystone: string;
  /** Null: the catalog in the caller's token says it. */
  readonly ironic: string | null;
  readonly ranges: ReturnType<typeof ranges>;
  readonly rules: () => ProxyRules;
}

/** Who asks. */
interface Known {
  readonly token: string | null;
  readonly known: KnownToken;
}

/** Everybody, where no token is asked for. */
const NOBODY: KnownToken = {
  owner: { user_id: "", project_id: null, roles: ["admin"], system_scope: "all" },
  endpoint: null,
  expires: Number.POSITIVE_INFINITY,
};

/**
 * Answers requests: whose the token is, what is decided of it, and what Ironic says to the same token.
 * Nothing is sent to Ironic of what is refused here.
 */
export function proxyAnswer(proxy: ProxyParts): (asked: AskedFor) => Promise<Reply> {
  return async (asked) => {
    const who = await whose(proxy, asked);
    if ("status" in who) return who;
    const decision = decide(asked, who.known.owner, proxy.rules());
    if (decision.do === "answer") return decision.reply;
    const at = await asking(proxy, asked, who, decision.fields);
    return decision.do === "list" ? listReply(at) : showReply(at, decision.ident, decision.id);
  };
}

/**
 * Who asks, as Keystone knows him; an answer where it does not.
 *
 * @param fault words an error as the service does
 */
export async function whose(
  proxy: Pick<ProxyParts, "tokens" | "keystone">,
  asked: AskedFor,
  fault = faultReply,
): Promise<Known | Reply> {
  if (proxy.tokens === null) return { token: null, known: NOBODY };
  const token = asked.fields["x-auth-token"];
  if (typeof token !== "string" || token === "") return unauthorized(proxy.keystone);
  const found = await proxy.tokens.validate(token, asked.globalId, () => {
    asked.upstream.calls += 1;
  });
  if (found.is === "known") return { token, known: found.token };
  if (found.is === "unanswered") return fault(503, unanswered("Keystone", found.why));
  return found.status === 401
    ? unauthorized(proxy.keystone)
    : fault(403, found.why || "Keystone refuses it.");
}

async function asking(
  proxy: ProxyParts,
  asked: AskedFor,
  { token, known }: Known,
  fields: Reply["fields"],
): Promise<AskedIronic> {
  const found = proxy.ironic ?? known.endpoint;
  if (found === null)
    throw new MigrationError(
      "N2I-E106",
      "the catalog of this token has no such baremetal endpoint",
    );
  const url = serviceUrl(found, "the catalog", BAREMETAL);
  const calling = (): void => {
    asked.upstream.calls += 1;
  };
  return {
    ironic: ironicFor(proxy.http, url, { token, id: asked.globalId, calling }),
    range: await proxy.ranges.of(url),
    keystone: proxy.keystone,
    fields,
    refused(what) {
      if (what === "version") proxy.ranges.forget(url);
      else if (token !== null) proxy.tokens?.forget(token);
    },
  };
}
