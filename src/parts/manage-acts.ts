import { fields } from "../edge/disk/journal.ts";
import type { Begun } from "../engine/begun.ts";
import type { Json } from "../model/json.ts";
import { MANAGE, type ManageAsked, type PortDevice } from "../model/manage.ts";

/** A machine that is given its server record, or loses it. */
export interface ManageChange {
  /** Uuid of its node. */
  readonly id: string;
  /** Uuid of its record, chosen before anything is written. */
  readonly server: string;
  /** What its record is made with; null on the way back. */
  readonly asked: ManageAsked | null;
  /** What the journal says was done for it. */
  readonly acts: readonly Act[];
}

/** One step, as the journal keeps it before it is made, with what it replaces. */
export type Act =
  | {
      readonly step: "hold";
      readonly server: string;
      readonly name: string;
      /** `instance_info.traits` as they were; absent: there were none. */
      readonly traits?: Json;
    }
  | ({ readonly step: "bind"; readonly port: string } & PortDevice)
  | { readonly step: "record" }
  | { readonly step: "release" };

/**
 * What the journal says was done for a machine's last record: what was done for one before that is over.
 *
 * @throws MigrationError N2I-E112
 */
export function actsOf(
  id: string,
  { observed }: Begun,
): { readonly server: string; readonly name: string; readonly acts: readonly Act[] } {
  const place = `journal, ${MANAGE} of ${id}`;
  const acts = observed.map((one): Act => {
    const { text } = fields(one, place);
    const step = text("step");
    switch (step) {
      case "hold": {
        const { traits } = one;
        const more = traits !== undefined && { traits };
        return { step, server: text("server"), name: text("name"), ...more };
      }
      case "bind":
        return {
          ...{ step, port: text("port") },
          ...{ device_id: text("device_id"), device_owner: text("device_owner") },
        };
      default:
        return { step: step === "record" ? step : "release" };
    }
  });
  const held = acts.findLast((act) => act.step === "hold");
  if (held === undefined) return { server: "", name: "", acts: [] };
  const { server, name } = held;
  const since = acts.findIndex((act) => act.step === "hold" && act.server === server);
  return { server, name, acts: acts.slice(since) };
}
