import type { Knex } from "knex";
import { type Database, readTransaction } from "../edge/database/open.ts";
import { readRestFlavors } from "../edge/nova-rest/flavors.ts";
import { openCompute } from "../edge/nova-rest/service.ts";
import { createRestFlavors } from "../edge/nova-rest/target.ts";
import { readApiFlavors, readCopiedIds } from "../edge/nova-write/flavors.ts";
import { identifyNovaApi } from "../edge/nova-write/open.ts";
import { createNovaTarget } from "../edge/nova-write/target.ts";
import { otherServer } from "../model/database.ts";
import { MigrationError } from "../model/error.ts";
import type { ApiIdentity, NovaTarget } from "../model/nova-plan.ts";
import type { FlavorRows } from "../model/nova-rows.ts";
import { cloudFor, type RestOptions } from "./cloud.ts";
import { openRole } from "./databases.ts";
import { failpoint } from "./failpoint.ts";
import { waitingFor } from "./waiting.ts";

/** The options by which a command says where flavors are, when they are not nova's. */
export interface FlavorApiOptions extends RestOptions {
  readonly novaApiDb?: string;
  readonly flavorsVia?: "db" | "rest";
}

/** Where Nova's rows are, as the command line says it. */
export type Reach = FlavorApiOptions & { readonly novaDb?: string };

/** Where flavors are that are not nova's, opened. */
export interface FlavorApi {
  readonly identity: ApiIdentity;
  /** For people. */
  readonly shown: string;
  readonly target: Pick<NovaTarget, "inspect" | "perform">;
  /** @param nova flavors of nova, and a transaction on it */
  readonly rows: (nova: FlavorRows, database: Database, on: Knex) => Promise<FlavorRows>;
  readonly close: () => Promise<void>;
}

/** Seconds a call may take. */
const LIMIT = 60;

/**
 * What the options name; null when flavors are nova's.
 *
 * @throws MigrationError N2I-E100 when they name two, N2I-E1.., N2I-E2.. when it cannot be opened
 */
export async function openFlavorApi(
  options: FlavorApiOptions,
  readOnly: boolean,
): Promise<FlavorApi | null> {
  const { novaApiDb, flavorsVia } = options;
  if (flavorsVia === "rest" && novaApiDb !== undefined)
    throw new MigrationError("N2I-E100", "--nova-api-db and --flavors-via rest exclude each other");
  if (flavorsVia === "rest") return overRest(options);
  return novaApiDb === undefined ? null : inDatabase(novaApiDb, readOnly);
}

/**
 * What a plan was made with, opened again; null when its flavors are nova's.
 *
 * @throws MigrationError N2I-E311 when the database is not given, N2I-E300 when it is another one
 */
export async function reopenFlavorApi(
  planned: ApiIdentity | undefined,
  options: FlavorApiOptions,
  readOnly: boolean,
): Promise<FlavorApi | null> {
  if (planned === undefined) return null;
  if (planned.kind === "database" && options.novaApiDb === undefined)
    throw new MigrationError("N2I-E311", "the plan changes flavors in nova_api", {
      fix: "Give --nova-api-db too.",
    });
  const flavorsVia = planned.kind === "rest" ? "rest" : "db";
  const opened = await openFlavorApi({ ...options, flavorsVia }, readOnly);
  if (opened === null) return null;
  try {
    checkApi(planned, opened.identity);
    return opened;
  } catch (error) {
    await opened.close();
    throw error;
  }
}

function checkApi(planned: ApiIdentity, found: ApiIdentity): void {
  const [one, other] = [textsOf(planned), textsOf(found)];
  const fields = ["kind", "schema_version", "head"].filter((field) => one[field] !== other[field]);
  const changed = [...otherServer(one, other), ...fields];
  if (changed.length > 0)
    throw new MigrationError(
      "N2I-E300",
      `the plan was made for other flavors: ${changed
        .map((field) => `${field} was ${one[field]}, is ${other[field]}`)
        .join("; ")}`,
    );
}

function textsOf(identity: ApiIdentity): { readonly [field: string]: string } {
  return Object.fromEntries(
    Object.entries(identity).map(([field, value]) => [field, String(value)]),
  );
}

async function inDatabase(spec: string, readOnly: boolean): Promise<FlavorApi> {
  const database = await openRole("nova-api-db", spec, { readOnly });
  try {
    const identity = await identifyNovaApi(database);
    return {
      identity: { kind: "database", ...identity },
      shown: database.shown,
      target: createNovaTarget(database, identity, failpoint, "nova_api"),
      async rows({ hosts }) {
        const on = await readTransaction(database);
        try {
          return await readApiFlavors(database, on, hosts);
        } finally {
          await on.rollback();
        }
      },
      close: database.close,
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function overRest(options: FlavorApiOptions): Promise<FlavorApi> {
  const service = await waitingFor("logging in and asking Nova what it is", () =>
    openCompute(cloudFor(options), (options.apiTimeout ?? LIMIT) * 1000),
  );
  return {
    identity: service.identity,
    shown: service.url,
    target: createRestFlavors(service, failpoint),
    async rows({ flavors, hosts }, database, on) {
      const known = new Set(flavors.map(({ id }) => id));
      const made = [...hosts.keys()].filter((id) => !known.has(id));
      const ids = new Map([
        ...flavors.flatMap(({ id, flavorid }) =>
          flavorid === null ? [] : [[flavorid, id] as const],
        ),
        // A live row is the one that is meant: a deleted flavor's flavorid may be given again.
        ...flavors.flatMap(({ id, flavorid, deleted }) =>
          flavorid === null || deleted !== 0 ? [] : [[flavorid, id] as const],
        ),
        ...(await readCopiedIds(database, on, made)),
      ]);
      return readRestFlavors(service, ids, hosts);
    },
    close: () => {
      service.close();
      return Promise.resolve();
    },
  };
}

/** Flavors of nova that the other place does not have: it is where Nova looks first. */
export function withoutThose(nova: FlavorRows, api: FlavorRows): FlavorRows {
  const there = new Set(api.flavors.map(({ id }) => id));
  return { ...nova, flavors: nova.flavors.filter(({ id }) => !there.has(id)) };
}
