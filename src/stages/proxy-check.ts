import type { CheckRow } from "../core/check/checks.ts";
import { failure, fine, warning } from "../core/check/look.ts";
import { MOUNT } from "../core/proxy/route.ts";
import { listQuestion, type Range } from "../core/proxy/upstream.ts";
import { ironicFor } from "../edge/ironic-rest/for-caller.ts";
import type { CheckResult } from "../model/check.ts";
import { MigrationError } from "../model/error.ts";
import { objectOf, parsedJson } from "../model/json.ts";
import type { ProxyParts } from "./proxy-requests.ts";
import { bound, openParts, type ProxyAsked } from "./serve-proxy.ts";

/**
 * Opens what `serve proxy` would, asks Keystone and Ironic once, and says how it went.
 *
 * @throws MigrationError as `serveProxy`, but for the address
 */
export async function checkProxy(asked: ProxyAsked): Promise<readonly CheckRow[]> {
  const { proxy, http, policy, machines } = await openParts(asked);
  try {
    const { keystone, ironic } = proxy;
    return [
      { title: "Address and certificate", ...(await address(asked)) },
      { title: "Policy", ...fine(policy.inWords()) },
      ...(asked.run === undefined
        ? []
        : [{ title: "Numbers of nova_bm", ...fine(`${machines} machines of ${asked.run}`) }]),
      ...(keystone === "" ? [] : [{ title: "Keystone", ...(await askedKeystone(proxy)) }]),
      ...(ironic === null
        ? [{ title: "Ironic", ...fine("looked up in the catalog of each caller's token") }]
        : await askedIronic(proxy, ironic)),
    ];
  } finally {
    http.close();
  }
}

async function address(asked: ProxyAsked): Promise<CheckResult> {
  try {
    const listener = await bound(
      asked,
      { path: MOUNT, answer: () => Promise.reject(new Error("nobody asks")) },
      () => undefined,
    );
    await listener.end();
    return fine(`${listener.url} is free`);
  } catch (error) {
    return refusedBy(error);
  }
}

/** @param where it is asked, where the error does not say so */
function refusedBy(error: unknown, where = ""): CheckResult {
  if (!(error instanceof MigrationError)) throw error;
  return failure(`${where}${error.message}.`, error.fix);
}

/** It tells everybody which version it is; a service behind it would want a token for that path. */
async function askedKeystone({ http, keystone }: ProxyParts): Promise<CheckResult> {
  const url = `${keystone}/v3/`;
  const compare = "Compare --keystone-url with auth_url of your clouds.yaml, and --os-cacert.";
  try {
    const answer = await http.send({ method: "GET", url, headers: {} });
    if ("why" in answer) return failure(`${url} does not answer: ${answer.why}.`, compare);
    const { id } = objectOf(objectOf(parsedJson(answer.text)).version);
    return answer.status === 200 && String(id).startsWith("v3")
      ? fine(`${keystone} is Keystone ${id}`)
      : failure(`${url} answers ${answer.status}, and not as Keystone does.`, compare);
  } catch (error) {
    return refusedBy(error);
  }
}

async function askedIronic(proxy: ProxyParts, url: string): Promise<readonly CheckRow[]> {
  try {
    const range = await proxy.ranges.of(url);
    const versions =
      range === null ? "Juno's, without microversions" : `1.${range.least}-1.${range.most}`;
    return [
      { title: "Ironic", ...fine(`${url} speaks ${versions}`) },
      { title: "Ironic's own login", ...(await withoutToken(proxy, url, range)) },
    ];
  } catch (error) {
    return [{ title: "Ironic", ...refusedBy(error, `${url}: `) }];
  }
}

async function withoutToken(
  { http, tokens }: ProxyParts,
  url: string,
  range: Range,
): Promise<CheckResult> {
  const ironic = ironicFor(http, url, { token: null, id: "", calling: () => undefined });
  const { path, minor } = listQuestion(range, null);
  const { status, fault } = await ironic.ask(
    `${path}${path.includes("?") ? "&" : "?"}limit=1`,
    minor,
  );
  if (status === 401 && tokens !== null) return fine("it wants a token, and gets the caller's");
  if (status === 200 && tokens === null) return fine("it wants no token, and gets none");
  if (status === 200)
    return warning(
      `${url} asks for no token: whoever reaches it may do everything there.`,
      "Set auth_strategy = keystone in ironic.conf, or give --auth none where that is meant.",
    );
  if (status === 401)
    return failure(
      `${url} wants a token, and --auth none has none.`,
      "Leave --auth none out, and give --keystone-url.",
    );
  return failure(`${url} does not answer: ${fault || status}.`, "Look at Ironic's log.");
}
