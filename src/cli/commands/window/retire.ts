import { retire } from "../../../window/retire/retire.ts";
import type { RetireArgs } from "../../options/window/retire.ts";
import { sinkOf } from "../shared.ts";

export function retireCommand(args: RetireArgs): Promise<void> {
  return retire(args, sinkOf({ ...args, format: "table" }));
}
