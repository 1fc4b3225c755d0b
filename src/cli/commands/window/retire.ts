import { type RetireOptions, retire } from "../../../window/retire/retire.ts";
import { sinkOf, type Voice } from "../shared.ts";

export function retireCommand(args: Voice & RetireOptions): Promise<void> {
  return retire(args, sinkOf({ ...args, format: "table" }));
}
