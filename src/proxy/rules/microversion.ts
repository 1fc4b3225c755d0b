import type { HeaderFields } from "../../model/served.ts";

/** What a request says of Nova's microversions. */
type Spoken =
  | { readonly is: "served"; readonly version: string }
  /** Nova took this API away at 2.36. */
  | { readonly is: "gone"; readonly version: string }
  | { readonly is: "unknown" | "malformed"; readonly version: string };

const LAST = 35;
const FIRST = "2.1";
/** What `latest` is depends on the Nova beside this: it is past this API's last. */
const AFTER = `2.${LAST + 1}`;

const MODERN = "OpenStack-API-Version";
const LEGACY = "X-OpenStack-Nova-API-Version";

/**
 * The microversion of a request to /v2.1; the newer header is the one that counts.
 *
 * @source microversion_parse, get_version; nova@26.2.2 api/openstack/wsgi.py set_api_version_request
 */
export function spokenOf(fields: HeaderFields): Spoken {
  const version = modern(text(fields, MODERN)) ?? legacy(text(fields, LEGACY)) ?? FIRST;
  if (version === "latest") return { is: "gone", version: AFTER };
  const [, major, minor] = /^([1-9]\d{0,8})\.([1-9]\d{0,8}|0)$/.exec(version) ?? [];
  if (major === undefined) return { is: "malformed", version };
  if (major !== "2" || minor === "0") return { is: "unknown", version };
  return { is: Number(minor) > LAST ? "gone" : "served", version };
}

function text(fields: HeaderFields, name: string): string | undefined {
  const found = fields[name.toLowerCase()];
  return typeof found === "string" ? found : found?.join(",");
}

/** `compute 2.9`, maybe among other services'; the last one counts. */
function modern(header: string | undefined): string | undefined {
  const said = (header ?? "").split(",").map((one) => one.trim().split(/\s+/));
  const own = said.filter(([service]) => service?.toLowerCase() === "compute");
  return own.findLast(([, version]) => version !== undefined)?.[1];
}

function legacy(header: string | undefined): string | undefined {
  return header?.split(",").at(-1)?.trim();
}

/** What goes back with an answer of /v2.1. */
export function versionFields(version: string): {
  readonly [name: string]: string | readonly string[];
} {
  return { [MODERN]: `compute ${version}`, [LEGACY]: version, Vary: [MODERN, LEGACY] };
}

/** Nova's sentence for a version it does not have. */
export function unknownVersion(version: string): string {
  return `Version ${version} is not supported by the API. Minimum is ${FIRST} and maximum is 2.${LAST}.`;
}
