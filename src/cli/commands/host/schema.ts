import { EXIT_STATUS } from "../../../lib/exit-status.ts";
import { leaseSchema } from "../../../takeover/leases/schema.ts";
import { exitWith, type ListArgs, sinkOf } from "../shared.ts";

export async function hostSchemaCommand(
  args: ListArgs & Parameters<typeof leaseSchema>[0],
): Promise<void> {
  if (!(await leaseSchema(args, sinkOf(args)))) exitWith(EXIT_STATUS.differs.status);
}
