import type { Begun } from "../../engine/begun.ts";
import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import type { RunningNode } from "../../model/ironic/adoptable.ts";
import {
  MANAGE,
  type ManageAsked,
  type PortDevice,
  type SeenServer,
} from "../../model/ironic/manage.ts";
import { fields } from "../../run/files/journal-entries.ts";

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
  /** Whether its end, or that of its way back, is not recorded. */
  readonly open?: boolean;
  /** Its way back was begun last, and is not at its end. */
  readonly back?: true;
}

/** One step, as the journal keeps it before it is made, with what it replaces. */
export type Act =
  | {
      readonly step: "hold";
      readonly server: string;
      readonly name: string;
      /** `instance_info.traits` as they were; absent: there were none. */
      readonly traits?: Json;
      /** Where the record is a server of Nova: what of the node is replaced, as it was. */
      readonly node?: JsonObject;
      /** Ids of what its server of Nova is made with. */
      readonly flavor?: string;
      readonly image?: string;
    }
  /** What a port is to be again: as it was at first; `changed` by its user, or Ironic, while its server was in service. */
  | ({
      readonly step: "bind" | "changed";
      readonly port: string;
      /** What else Nova writes of it, as it was. */
      readonly more?: JsonObject;
      /** Whether Neutron had bound it: an unbound port carries nothing. */
      readonly bound?: boolean;
    } & PortDevice)
  /** Somebody else had the port first: nothing was written of it. */
  | { readonly step: "unbound"; readonly port: string }
  /** Nova's server, by its own uuid. */
  | { readonly step: "made"; readonly uuid: string }
  | { readonly step: PlainStep };

/** Steps that replace nothing that is not kept already. */
const PLAIN = [
  ...(["fake", "free", "state", "record", "power", "swap", "release"] as const),
  ...(["out", "handed", "unhanded", "unmark"] as const),
] as const;

export type PlainStep = (typeof PLAIN)[number];

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
        const { traits, node, flavor, image } = one;
        const more = {
          ...(traits !== undefined && { traits }),
          ...(isObject(node) && { node }),
          ...(typeof flavor === "string" && { flavor }),
          ...(typeof image === "string" && { image }),
        };
        return { step, server: text("server"), name: text("name"), ...more };
      }
      case "bind":
      case "changed":
        return {
          ...{ step, port: text("port") },
          ...{ device_id: text("device_id"), device_owner: text("device_owner") },
          ...(isObject(one.more) && { more: one.more }),
          ...(one.bound === true && { bound: true }),
        };
      case "unbound":
        return { step, port: text("port") };
      case "made":
        return { step, uuid: text("uuid") };
      default: {
        const plain = PLAIN.find((one) => one === step);
        if (plain !== undefined) return { step: plain };
        throw new MigrationError("N2I-E112", `${place}: no step is called ${JSON.stringify(step)}`);
      }
    }
  });
  const held = acts.findLast((act) => act.step === "hold");
  if (held === undefined) return { server: "", name: "", acts: [] };
  const { server, name } = held;
  const since = acts.findIndex((act) => act.step === "hold" && act.server === server);
  return { server, name, acts: acts.slice(since) };
}

/** Uuid of a machine's record: Nova gives its servers uuids of its own. */
export function recordOf({ server, acts }: Pick<ManageChange, "server" | "acts">): string {
  return acts.findLast((act) => act.step === "made")?.uuid ?? server;
}

/** Whether the uuid of its server of Nova is known. */
export function isMade(change: Pick<ManageChange, "server" | "acts">): boolean {
  return recordOf(change) !== change.server;
}

/** What each port is to be again: as it was before it was first touched, or as it was changed since. */
export function bindsOf({ acts }: Pick<ManageChange, "acts">): readonly Bind[] {
  const wanted = new Map<string, Bind>();
  for (const act of acts)
    if (act.step === "unbound") wanted.delete(act.port);
    else if (act.step === "changed" || (act.step === "bind" && !wanted.has(act.port)))
      wanted.set(act.port, act);
  return [...wanted.values()];
}

export type Bind = Extract<Act, { readonly step: "bind" | "changed" }>;

export function holdOf({ acts }: Pick<ManageChange, "acts">) {
  return acts.findLast((act) => act.step === "hold");
}

/** Whether a machine with a server of Nova had its hardware back once. */
export function isFinished({ acts }: Pick<ManageChange, "acts">): boolean {
  return acts.some(({ step }) => step === "swap");
}

/**
 * Whether its maintenance was to end, on hardware of its own, or was found ended: its user may have his server since. One
 * that stood on fake hardware once more after that is nobody's.
 */
export function isHanded({ acts }: Pick<ManageChange, "acts">): boolean {
  return sinceFake(acts, /^(out|handed|unmark)$/);
}

/** Whether it was seen in service: its maintenance had ended, on hardware of its own. */
export function isOut({ acts }: Pick<ManageChange, "acts">): boolean {
  return sinceFake(acts, /^(out|unmark)$/);
}

/** Whether its ports were given back what they were, and are its user's since. */
export function isPorted({ acts }: Pick<ManageChange, "acts">): boolean {
  return sinceFake(acts, /^(handed|unmark)$/);
}

function sinceFake(acts: readonly Act[], steps: RegExp): boolean {
  const fake = acts.findLastIndex(({ step }) => step === "swap" || step === "unhanded");
  return acts.some(({ step }, at) => at > fake && steps.test(step));
}

/** Said of a node of the journal that Ironic does not show: of one that is another's it answers the same. */
export function unseenNode(id: string): string {
  return `Ironic does not show node ${id} to this login: use the login that it was managed with. If it was deleted, nothing of it is left to give back`;
}

/** Said of a port of the journal that Neutron does not show. */
export function unseen(port: string): string {
  return `port ${port} was not given back: Neutron does not show it to this login. Use the login that it was managed with`;
}

/** `instance_info.traits` of what is kept of a node. */
export function traitsIn({ instance_info: info }: JsonObject): Json | undefined {
  return isObject(info) ? info.traits : undefined;
}

/** A machine that has its server of Nova, as the last step has looked at it. */
export function withServer(
  { id, seen, acts, server, asked }: WithServer,
  node: RunningNode,
): SeenServer {
  const uuid = recordOf({ acts, server });
  const told = { uuid, name: asked.name, node_uuid: id, state: "active", last_error: null };
  const record = { ...told, created_at: null, updated_at: null };
  return { ...seen, node: { ...node, instance_uuid: uuid }, record };
}

interface WithServer extends Pick<ManageChange, "id" | "server" | "acts"> {
  readonly seen: SeenServer;
  readonly asked: ManageAsked;
}
