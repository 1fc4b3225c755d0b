import { managedBack, verifyManaged } from "../../manage/manage-back.ts";
import { managedState } from "../../manage/manage-run.ts";
import { adviceOf } from "../../window/runner/next-step.ts";
import { notOption } from "../commands/said.ts";
import { sinkOf } from "../commands/shared.ts";
import { EVERY } from "../views/every-row.ts";
import { hostVerifiedText } from "../views/hosts.ts";
import type { RunKind } from "./kind.ts";

export const manage: RunKind = {
  status: ({ path }) => managedState(path),
  async advice(run) {
    const state = await managedState(run.path);
    return adviceOf(run, state, `${state.fields.managed}; ${state.fields.open}`);
  },
  async verify(args) {
    notOption("verify of this run", "nova-bm-db");
    const counts = await verifyManaged(args, sinkOf({ ...args, every: EVERY.verify(args) }));
    return { texts: [hostVerifiedText(counts)], equal: counts.wrong === 0 };
  },
  rollback(args) {
    for (const name of ["nova-bm-db", "fence-command"]) notOption("rollback of this run", name);
    return managedBack(args);
  },
};
