import type { ApiIdentity } from "../model/nova-plan.ts";

/** Options for Nova that the next command wants besides, where they were not given. */
export function novaOptions(api: ApiIdentity | undefined): {
  readonly novaDb: "DB";
  readonly novaApiDb?: "DB";
  readonly flavorsVia?: "rest";
} {
  switch (api?.kind) {
    case undefined:
      return { novaDb: "DB" };
    case "database":
      return { novaDb: "DB", novaApiDb: "DB" };
    case "rest":
      return { novaDb: "DB", flavorsVia: "rest" };
  }
}
