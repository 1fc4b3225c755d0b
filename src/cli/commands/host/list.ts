import { listHosts } from "../../../takeover/host-list.ts";
import { printView } from "../../print/out.ts";
import { EVERY } from "../../views/every-row.ts";
import { ownersView } from "../../views/hosts.ts";
import type { ListArgs } from "../shared.ts";

export function hostListCommand(args: ListArgs & Parameters<typeof listHosts>[0]): Promise<void> {
  const how = { ...args, every: EVERY.same() };
  return listHosts(args, (rows) => printView(ownersView(rows), how));
}
