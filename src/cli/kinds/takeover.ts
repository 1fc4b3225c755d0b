import type { RunAbout } from "../../run/files/run-kind.ts";
import { hostState } from "../../takeover/host-status.ts";
import type { HostVerifyOptions } from "../../takeover/host-verify.ts";
import { adviceOf } from "../../window/runner/next-step.ts";
import { refuseOptions } from "../commands/given-options.ts";
import type { ListArgs } from "../commands/shared.ts";
import { rollbackOptions } from "../options/apply.ts";
import type { Declared, OptionTable } from "../options/declared.ts";
import { HOST, HOSTS_BACK } from "../options/host/actions.ts";
import { verifyOptions } from "../options/verify.ts";
import { type RunKind, type RunVerified, verifiedBy } from "./kind.ts";

export function takeover({ variant = "ironic" }: RunAbout): RunKind {
  return {
    status: hostState,
    async advice(run) {
      const state = await hostState(run);
      return adviceOf(run, state, `${state.fields.move}; fenced: ${state.fields.fence}`);
    },
    verify(args) {
      refuseOptions("verify of a run between hosts", unused(verifyOptions, HOST.verify.options));
      return verifyTakeoverRun(args);
    },
    async rollback(args) {
      const used = variant === "baremetal" ? { ...HOSTS_BACK, "nova-bm-db": {} } : HOSTS_BACK;
      refuseOptions("rollback of a run between hosts", unused(rollbackOptions, used));
      return (await import("../../takeover/host-back.ts")).hostsBack(variant, args);
    },
  };
}

export async function verifyTakeoverRun(args: ListArgs & HostVerifyOptions): Promise<RunVerified> {
  return verifiedBy(args, (await import("../../takeover/host-verify.ts")).verifyHosts);
}

function unused({ options = {} }: Declared, used: OptionTable): readonly string[] {
  return Object.keys(options).filter((name) => !(name in used));
}
