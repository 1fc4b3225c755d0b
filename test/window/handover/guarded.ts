import type { Entry } from "../../../src/model/journal.ts";
import type { finish } from "../../../src/window/finish/finish-part.ts";

/** A planned machine of a tenant, one without guards, and a free one. */
export const PLANNED = {
  ...{ provision_state: "active", instance_uuid: "i", maintenance: false, protected: true },
  ...{ protected_reason: "nova2ironic: a tenant's machine", automated_clean: false },
};
export const CLEAR = { protected: false, protected_reason: null, automated_clean: null };
export const FREE = {
  ...{ provision_state: "available", instance_uuid: null, maintenance: false, ...CLEAR },
};

/** Finish with this journal, and a clock that only sleeping moves. */
export function finishingIn(entries: Entry[]): Omit<Parameters<typeof finish>[1], "guard"> {
  let now = 0;
  return {
    journal: { entries: () => entries, append: async (entry) => void entries.push(entry) },
    clock: {
      now: () => now,
      sleep: async (milliseconds) => {
        now += milliseconds;
      },
    },
    ...{ now: () => "now", by: "a test", stopping: () => false, progress: () => {} },
    ...{ lockWait: 2, inFlight: 1 },
  };
}
