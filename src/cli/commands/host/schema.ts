import { EXIT_STATUS } from "../../../lib/exit-status.ts";
import {
  extendNovaBm,
  leaseSchemaStatus,
  revertNovaBm,
} from "../../../takeover/baremetal/lease-schema.ts";
import { exitWith, type ListArgs, sinkOf } from "../shared.ts";

export async function hostSchemaCommand(
  args: ListArgs & { readonly change: "extend" | "status" | "revert"; readonly novaBmDb: string },
): Promise<void> {
  const sink = sinkOf(args);
  switch (args.change) {
    case "extend":
      return extendNovaBm(args, sink);
    case "revert":
      return revertNovaBm(args, sink);
    case "status":
      if (!(await leaseSchemaStatus(args, sink))) exitWith(EXIT_STATUS.differs.status);
  }
}
