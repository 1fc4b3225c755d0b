import { objectOf, parsedJson } from "../lib/json.ts";
import type { ManageAsked } from "../model/ironic/manage.ts";
import { createAjv } from "../model/json-schema/schemas.ts";
import type { Reply } from "../model/served.ts";
import { BODY } from "./rules/served.ts";

export const VALIDATES = createAjv().compile(BODY);

/** @param body valid for the schema */
export function askedOf(body: ReturnType<typeof objectOf>): Required<Omit<ManageAsked, "owner">> {
  const word = (key: string): string | null => {
    const value = body[key];
    return typeof value === "string" && value !== "" ? value : null;
  };
  const { networks } = body;
  const ports = Array.isArray(networks) ? networks : [];
  return {
    ...{ node: (word("node_uuid") ?? "").toLowerCase(), name: word("name") ?? "" },
    ...{ description: word("description"), availability_zone: word("availability_zone") },
    ports: ports.map((one) => String(objectOf(one).port_id).toLowerCase()),
    metadata: {},
  };
}

export function faultIn({ body }: Reply): string {
  const { error_message } = objectOf(parsedJson(typeof body === "string" ? body : ""));
  const { faultstring } = objectOf(parsedJson(String(error_message)));
  return typeof faultstring === "string" ? faultstring : "";
}
