import type { FormatOptions } from "../../lib/table/format.ts";
import type { RunAbout } from "../../run/files/run-kind.ts";
import { hostState } from "../../takeover/host-status.ts";
import type { HostVerifyWords } from "../../takeover/host-verify.ts";
import { adviceOf } from "../../window/runner/next-step.ts";
import { onlyOptions } from "../commands/said.ts";
import type { Voice } from "../commands/shared.ts";
import { HOST_ACTIONS, HOSTS_BACK } from "../options/host/actions.ts";
import { NOVA_BM } from "../options/host/leases.ts";
import { type RunKind, type RunVerified, verifiedBy } from "./kind.ts";

export function takeover({ variant }: RunAbout): RunKind {
  return {
    status: hostState,
    async advice(run) {
      const state = await hostState(run);
      return adviceOf(run, state, `${state.fields.move}; fenced: ${state.fields.fence}`);
    },
    verify(args) {
      onlyOptions("verify of a run between hosts", HOST_ACTIONS.verify.options);
      return verifyTakeoverRun(args);
    },
    async rollback(args) {
      const options = variant === "baremetal" ? { ...HOSTS_BACK, ...NOVA_BM } : HOSTS_BACK;
      onlyOptions("rollback of a run between hosts", options);
      return variant === "baremetal"
        ? (await import("../../takeover/baremetal/legacy-back.ts")).legacyBack(args)
        : (await import("../../takeover/host-back.ts")).hostsBack(args);
    },
  };
}

export async function verifyTakeoverRun(
  args: Voice & FormatOptions & HostVerifyWords,
): Promise<RunVerified> {
  return verifiedBy(args, (await import("../../takeover/host-verify.ts")).verifyHosts);
}
