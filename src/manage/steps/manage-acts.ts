import type { StartedChange } from "../../engine/started.ts";
import { MigrationError } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import { MANAGE, type ManageRequest, type ServerRecord } from "../../model/ironic/manage.ts";
import type { Formed, LineForm } from "../../model/journal.ts";
import { formed } from "../../run/files/journal-entries.ts";

export interface ManageChange {
  /** Node uuid. */
  readonly id: string;
  /** Uuid of the record, chosen before the first write. */
  readonly server: string;
  /** The request; null for a rollback. */
  readonly request: ManageRequest | null;
  readonly acts: readonly Act[];
  /** Its end, or the end of its rollback, is not in the journal. */
  readonly open?: boolean;
  /** A rollback was started and did not end. */
  readonly back?: true;
}

/** The values to restore: the first ones, or those that the user or Ironic `changed`. */
const PORT = {
  ...({ port: "text", device_id: "text", device_owner: "text" } as const),
  /** Other fields that Nova overwrites, and whether Neutron had bound the port. */
  ...({ more: "object?", bound: "yes?" } as const),
} as const;

/** The steps in the journal, with the replaced values. */
const FORMS = {
  hold: {
    /** Former `instance_info.traits`; absent: none. */
    ...({ server: "text", name: "text", traits: "json?" } as const),
    /** For a Nova server: the replaced fields of the node. */
    ...({ node: "object?", flavor: "text?", image: "text?" } as const),
  },
  ...{ bind: PORT, changed: PORT },
  /** The port was not changed, because another server had it. */
  unbound: { port: "text" },
  made: { uuid: "text" },
  ...{ fake: {}, free: {}, state: {}, record: {}, power: {}, swap: {}, release: {} },
  ...{ out: {}, handed: {}, unhanded: {}, unmark: {} },
} as const;

const FORM_OF = new Map<string, LineForm>(Object.entries(FORMS));

type Acts = { [S in keyof typeof FORMS]: { readonly step: S } & Formed<(typeof FORMS)[S]> };

/** A step, written before the change. */
export type Act = Acts[keyof Acts];

export type PlainStep = Exclude<keyof Acts, "hold" | "bind" | "changed" | "unbound" | "made">;

/** Steps of the last record, because earlier ones are complete. @throws MigrationError N2I-E112 */
export function actsOf(
  id: string,
  { observed }: StartedChange,
): { readonly server: string; readonly name: string; readonly acts: readonly Act[] } {
  const location = `journal, ${MANAGE} of ${id}`;
  const acts = observed.map((one): Act => {
    const { step } = formed(one, { step: "text" }, location);
    const form = FORM_OF.get(step);
    if (form === undefined)
      throw new MigrationError("N2I-E112", `${location}: unknown step ${JSON.stringify(step)}`);
    // The form of the step has checked its fields.
    return { step, ...formed(one, form, location) } as object as Act;
  });
  const reservation = acts.findLast((act) => act.step === "hold");
  if (reservation === undefined) return { server: "", name: "", acts: [] };
  const { server, name } = reservation;
  const since = acts.findIndex((act) => act.step === "hold" && act.server === server);
  return { server, name, acts: acts.slice(since) };
}

/** The acts of a change in progress, with those that `begin` adds to the journal. */
export function recording(
  earlier: readonly Act[],
  journal: (observed: JsonObject) => Promise<void>,
): { readonly acts: readonly Act[]; readonly begin: (act: Act) => Promise<void> } {
  const acts = [...earlier];
  const begin = async (act: Act): Promise<void> => {
    acts.push(act);
    await journal({ ...act });
  };
  return { acts, begin };
}

/** Uuid of the record. Nova chooses the uuids of its servers. */
export function recordOf({ server, acts }: Pick<ManageChange, "server" | "acts">): string {
  return acts.findLast((act) => act.step === "made")?.uuid ?? server;
}

export function isMade(change: Pick<ManageChange, "server" | "acts">): boolean {
  return recordOf(change) !== change.server;
}

/** The values to restore on each port: the first saved ones, or later changes. */
export function bindsOf({ acts }: Pick<ManageChange, "acts">): readonly Bind[] {
  const binds = new Map<string, Bind>();
  for (const act of acts)
    if (act.step === "unbound") binds.delete(act.port);
    else if (act.step === "changed" || (act.step === "bind" && !binds.has(act.port)))
      binds.set(act.port, act);
  return [...binds.values()];
}

export type Bind = Extract<Act, { readonly step: "bind" | "changed" }>;

export function portsBound(change: Pick<ManageChange, "acts">): readonly string[] {
  return bindsOf(change).map(({ port }) => port);
}

export function reservationOf({ acts }: Pick<ManageChange, "acts">) {
  return acts.findLast((act) => act.step === "hold");
}

/** Whether the machine's own hardware was restored. */
export function isFinished({ acts }: Pick<ManageChange, "acts">): boolean {
  return acts.some(({ step }) => step === "swap");
}

/** Whether the server may be in use: maintenance has ended on its own hardware. */
export function isHanded({ acts }: Pick<ManageChange, "acts">): boolean {
  return sinceFake(acts, /^(out|handed|unmark)$/);
}

/** Whether it was in service: without maintenance, on its own hardware. */
export function isOut({ acts }: Pick<ManageChange, "acts">): boolean {
  return sinceFake(acts, /^(out|unmark)$/);
}

/** Whether its ports were restored, and now belong to the user. */
export function isPorted({ acts }: Pick<ManageChange, "acts">): boolean {
  return sinceFake(acts, /^(handed|unmark)$/);
}

function sinceFake(acts: readonly Act[], steps: RegExp): boolean {
  const fake = acts.findLastIndex(({ step }) => step === "swap" || step === "unhanded");
  return acts.some(({ step }, at) => at > fake && steps.test(step));
}

/** Text for a node that Ironic does not show. Ironic answers the same for other owners' nodes. */
export function unseenNode(id: string): string {
  return `node ${id} is not visible in Ironic with these credentials: use the credentials that managed it. If the node was deleted, there is nothing to restore`;
}

export function unseen(port: string): string {
  return `port ${port} was not restored: it is not visible in Neutron with these credentials. Use the credentials that managed it`;
}

export function traitsIn({ instance_info: info }: JsonObject): Json | undefined {
  return isObject(info) ? info.traits : undefined;
}

/** A server of Nova in the form of a record. */
export function serverRecord(
  change: Pick<ManageChange, "acts">,
  server: Pick<ServerRecord, "uuid" | "node_uuid" | "state">,
): ServerRecord {
  const name = reservationOf(change)?.name ?? null;
  return { ...server, name, last_error: null, created_at: null, updated_at: null };
}
