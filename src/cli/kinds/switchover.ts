import { switchoverBack, verifySwitched } from "../../switchover/switchover-back.ts";
import { switchState } from "../../switchover/switchover-run.ts";
import { adviceOf } from "../../window/runner/next-step.ts";
import { notOption } from "../commands/said.ts";
import { sinkOf } from "../commands/shared.ts";
import { EVERY } from "../views/every-row.ts";
import { hostVerifiedText } from "../views/hosts.ts";
import type { RunKind } from "./kind.ts";

export const switchover: RunKind = {
  status: ({ path }) => switchState(path),
  async advice(run) {
    const state = await switchState(run.path);
    return adviceOf(run, state, `${state.fields.source}: ${state.fields.state}`);
  },
  async verify(args) {
    notOption("verify of this run", "nova-bm-db");
    const counts = await verifySwitched(args, sinkOf({ ...args, every: EVERY.verify(args) }));
    return { texts: [hostVerifiedText(counts)], equal: counts.wrong === 0 };
  },
  rollback(args) {
    notOption("rollback of this run", "nova-bm-db");
    return switchoverBack(args);
  },
};
