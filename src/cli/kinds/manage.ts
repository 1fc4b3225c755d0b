import { managedBack, verifyManaged } from "../../manage/manage-back.ts";
import { managedState } from "../../manage/manage-run.ts";
import { adviceOf } from "../../window/runner/next-step.ts";
import { refuseOptions } from "../commands/given-options.ts";
import { type RunKind, verifiedBy } from "./kind.ts";

export const manage: RunKind = {
  status: ({ path }) => managedState(path),
  async advice(run) {
    const state = await managedState(run.path);
    return adviceOf(run, state, `${state.fields.managed}; ${state.fields.open}`);
  },
  verify(args) {
    refuseOptions("verify of this run", ["nova-bm-db"]);
    return verifiedBy(args, verifyManaged);
  },
  async rollback(args) {
    refuseOptions("rollback of this run", ["nova-bm-db", "fence-command"]);
    return managedBack(args);
  },
};
