import { ownersView } from "../../report/hosts.ts";
import { listHosts } from "../../stages/host-list.ts";
import type { HostArgs } from "../options/host.ts";
import { printView } from "../print/out.ts";
import { EVERY } from "./every-row.ts";

export function hostListCommand(args: HostArgs & Parameters<typeof listHosts>[0]): Promise<void> {
  const how = { ...args, every: EVERY.same() };
  return listHosts(args, (rows) => printView(ownersView(rows), how));
}
