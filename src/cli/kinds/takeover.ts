import type { RunAbout } from "../../run/files/run-kind.ts";
import { hostState } from "../../takeover/host-status.ts";
import { adviceOf } from "../../window/runner/next-step.ts";
import { refuseOptions } from "../commands/given-options.ts";
import { rollbackOptions, verifyOptions } from "../options/apply.ts";
import type { Declared, OptionTable } from "../options/declared.ts";
import { HOST, HOSTS_BACK } from "../options/host/actions.ts";
import { type RunKind, verifiedBy } from "./kind.ts";

export function takeover({ variant = "ironic" }: RunAbout): RunKind {
  return {
    status: hostState,
    async advice(run) {
      const state = await hostState(run);
      return adviceOf(run, state, `${state.fields.move}; fenced: ${state.fields.fence}`);
    },
    async verify(args) {
      refuseOptions("verify of a run between hosts", unused(verifyOptions, HOST.verify.options));
      return verifiedBy(args, (await import("../../takeover/host-verify.ts")).verifyHosts);
    },
    async rollback(args) {
      const used = variant === "baremetal" ? { ...HOSTS_BACK, "nova-bm-db": {} } : HOSTS_BACK;
      refuseOptions("rollback of a run between hosts", unused(rollbackOptions, used));
      return (await import("../../takeover/host-back.ts")).hostsBack(variant, args);
    },
  };
}

function unused({ options = {} }: Declared, used: OptionTable): readonly string[] {
  return Object.keys(options).filter((name) => !(name in used));
}
