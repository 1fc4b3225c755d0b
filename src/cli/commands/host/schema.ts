import { MigrationError } from "../../../lib/error.ts";
import { EXIT_STATUS } from "../../../lib/exit-status.ts";
import {
  extendNovaBm,
  leaseSchemaStatus,
  revertNovaBm,
} from "../../../takeover/baremetal/lease-schema.ts";
import type { HostArgs } from "../../options/host/host.ts";
import { exitWith, sinkOf } from "../shared.ts";

export async function hostSchemaCommand(
  args: HostArgs & { readonly novaBmDb: string; readonly yes: boolean },
): Promise<void> {
  const sink = sinkOf(args);
  switch (args.compute) {
    case "extend":
      return extendNovaBm(args, sink);
    case "revert":
      return revertNovaBm(args, sink);
    case "status":
      if (!(await leaseSchemaStatus(args, sink))) exitWith(EXIT_STATUS.differs.status);
      return;
    default:
      throw new MigrationError("N2I-E100", "host schema wants extend, status or revert");
  }
}
