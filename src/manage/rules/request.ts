import { isUuid } from "../../lib/uuid.ts";
import type { ManageRequest } from "../../model/ironic/manage.ts";

/** Maximum length of a name, description, key or value. @source facts/systems.md C1 */
const MOST = 255;

/** Name of an Ironic allocation. @source ironic: api/controllers/v1/utils.py */
const LOGICAL = /^[A-Za-z0-9._~-]+$/;

const KEY = /^[a-zA-Z0-9\-_:. ]{1,255}$/;

/** Characters that Nova refuses. @source nova 26: api/validation/parameter_types.py */
const CONTROL = /[\p{C}\p{Zl}\p{Zp}]/u;

/** Not accepted. @source nova 26: api/validation/parameter_types.py, range(0xFFFF) */
const BEYOND = /[\u{10000}-\u{10FFFF}]/u;

/** @param recordService the service for the record: Nova accepts names that Ironic refuses */
export function requestFaults(
  request: ManageRequest,
  recordService: "allocation" | "nova" = "allocation",
): readonly string[] {
  const { node, name, description, availability_zone, metadata } = request;
  return [
    ...(node === "" || node.length > MOST ? [`node: 1 to ${MOST} characters`] : []),
    ...nameFaults(name, recordService),
    ...((description ?? "").length > MOST ? [`description: at most ${MOST} characters`] : []),
    ...(recordService === "nova" && CONTROL.test(description ?? "")
      ? ["description: Nova does not accept control characters"]
      : []),
    ...(recordService === "nova" ? beyondFaults(request) : []),
    ...((availability_zone ?? "").length > MOST
      ? [`availability_zone: at most ${MOST} characters`]
      : []),
    ...Object.entries(metadata).flatMap(([key, value]) => [
      ...(KEY.test(key)
        ? []
        : [`metadata ${JSON.stringify(key)}: letters, digits, spaces and -_:. only, 1 to ${MOST}`]),
      ...(value.length > MOST
        ? [`metadata ${JSON.stringify(key)}: at most ${MOST} characters`]
        : []),
    ]),
  ];
}

/** Nova's schema accepts these characters in metadata, but its database does not (500). */
function beyondFaults({ name, description, metadata }: ManageRequest): readonly string[] {
  const values = Object.entries(metadata).map(
    ([key, value]) => [`metadata ${JSON.stringify(key)}`, value] as const,
  );
  return [["name", name] as const, ["description", description ?? ""] as const, ...values].flatMap(
    ([field, text]) =>
      BEYOND.test(text)
        ? [`${field}: Nova does not accept emoji or other characters beyond U+FFFF`]
        : [],
  );
}

function nameFaults(name: string, recordService: "allocation" | "nova"): readonly string[] {
  if (name.trim() === "" || name.length > MOST) return [`name: 1 to ${MOST} characters`];
  if (CONTROL.test(name)) return ["name: no control characters"];
  if (recordService === "nova")
    return name.trim() === name ? [] : ["name: no spaces at the beginning or end"];
  if (isUuid(name)) return ["name: must not be a UUID"];
  return LOGICAL.test(name) ? [] : ["name: Ironic accepts only letters, digits and -._~"];
}

export function repeatedFaults(all: readonly ManageRequest[]): readonly string[] {
  const repeated = (field: string, values: readonly string[]): readonly string[] => {
    const unique = new Set<string>();
    const copies = new Set(values.filter((value) => unique.size === unique.add(value).size));
    return [...copies].map((value) => `${field} ${JSON.stringify(value)} is listed more than once`);
  };
  return [
    ...repeated(
      "node",
      all.map(({ node }) => (isUuid(node) ? node.toLowerCase() : node)),
    ),
    ...repeated(
      "name",
      all.map(({ name }) => name),
    ),
  ];
}

/** Why `ZONE:HOST:NODE` does not name this node, or null. */
export function zoneFault(zone: string | null, node: string): string | null {
  if (zone?.includes(":") !== true) return null;
  const parts = zone.split(":");
  const [, host = "", zoneNode = ""] = parts;
  if (parts.length !== 3 || host === "")
    return `availability_zone ${zone} is neither ZONE nor ZONE:HOST:NODE`;
  return zoneNode.toLowerCase() === node
    ? null
    : `availability_zone ${zone} has a node other than ${node}`;
}

/** The zone's name; null without one, or for Nova's default zone. */
export function nameOfZone(zone: string | null): string | null {
  const [name = ""] = (zone ?? "").split(":");
  // Nova reports the name of another default zone.
  return name === "" || name === "nova" ? null : name;
}

/**
 * Why Nova cannot create a server in the zone, or null.
 *
 * @param zones zones and whether they are available
 * @source nova 26: compute/api.py, create: "The requested availability zone is not available"
 */
export function noZone(zone: string, zones: ReadonlyMap<string, boolean>): string | null {
  const available = zones.get(zone);
  if (available === true) return null;
  return available === false
    ? `every nova-compute of availability_zone ${zone} is disabled`
    : `Nova has no availability_zone ${zone}; it has ${[...zones.keys()].join(", ") || "none"}`;
}
