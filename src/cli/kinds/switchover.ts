import { switchoverBack, verifySwitched } from "../../switchover/switchover-back.ts";
import { switchState } from "../../switchover/switchover-run.ts";
import { adviceOf } from "../../window/runner/next-step.ts";
import { refuseOptions } from "../commands/given-options.ts";
import { type RunKind, verifiedBy } from "./kind.ts";

export const switchover: RunKind = {
  status: ({ path }) => switchState(path),
  async advice(run) {
    const state = await switchState(run.path);
    return adviceOf(run, state, `${state.fields.source}: ${state.fields.state}`);
  },
  verify(args) {
    refuseOptions("verify of this run", ["nova-bm-db"]);
    return verifiedBy(args, verifySwitched);
  },
  async rollback(args) {
    refuseOptions("rollback of this run", ["nova-bm-db"]);
    return switchoverBack(args);
  },
};
