import type { ApiIdentity } from "../../model/nova-plan.ts";

/** Options for Nova that the next command wants besides, for people to copy. */
export function novaWords(api: ApiIdentity | undefined): string {
  switch (api?.kind) {
    case undefined:
      return " --nova-db DB";
    case "database":
      return " --nova-db DB --nova-api-db DB";
    case "rest":
      return " --nova-db DB --flavors-via rest";
  }
}
