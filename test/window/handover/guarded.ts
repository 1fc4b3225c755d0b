import type { Entry } from "../../../src/model/journal.ts";
import type { finish } from "../../../src/window/finish/finish-part.ts";

/** A planned machine of a tenant, one without guards, and a free one. */
export const PLANNED = {
  ...{ provision_state: "active", instance_uuid: "i", maintenance: false, protected: true },
  ...{ protected_reason: "nova2ironic: a tenant's machine", automated_clean: false },
};
export const CLEAR = { protected: false, protected_reason: null, automated_clean: null };
const UNUSED = { provision_state: "available", instance_uuid: null, maintenance: false };
export const FREE = { ...UNUSED, ...CLEAR };

/** Finish with this journal, and a clock that only sleeping moves. */
export function finishingIn(entries: Entry[]): Omit<Parameters<typeof finish>[1], "guard"> {
  let now = 0;
  const sleep = async (milliseconds: number): Promise<void> => {
    now += milliseconds;
  };
  return {
    journal: { entries: () => entries, append: async (entry) => void entries.push(entry) },
    clock: { now: () => now, sleep },
    ...{ now: () => "now", by: "a test", stopping: () => false, progress: () => {} },
    ...{ lockWait: 2, inFlight: 1 },
  };
}
