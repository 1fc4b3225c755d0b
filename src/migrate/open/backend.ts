import { MigrationError } from "../../lib/error.ts";
import { sameSecret } from "../../model/compare.ts";
import type { Lock } from "../../model/ironic/target.ts";
import type { Seal } from "../../model/secret.ts";
import { BY_NAME, type RestOptions } from "../../run/cloud.ts";
import { openRole } from "../../run/databases.ts";
import { failpoint } from "../../run/failpoint.ts";
import { rest, waitingFor } from "../../run/process-context.ts";
import type { Database } from "../../systems/database/open.ts";
import { lockTarget } from "../../systems/database/target-lock.ts";
import { committed } from "../../systems/database/write.ts";
import { sameOver } from "../../systems/ironic-api/body.ts";
import { createRestGuard } from "../../systems/ironic-api/guard.ts";
import {
  expectServiceRelease,
  openService,
  type RestService,
} from "../../systems/ironic-api/service.ts";
import { createRestTarget } from "../../systems/ironic-api/target.ts";
import { oldestNodes } from "../../systems/ironic-db/current.ts";
import { createGuard } from "../../systems/ironic-db/handover.ts";
import { expectRelease, identifyTarget } from "../../systems/ironic-db/open.ts";
import { scannedKeys } from "../../systems/ironic-db/remove.ts";
import { createTarget } from "../../systems/ironic-db/target.ts";
import type { Mappings } from "./documents.ts";
import { cloudOfOptions } from "./services.ts";

export interface TargetOptions extends RestOptions {
  readonly ironicDb?: string;
  readonly deployKernel?: string;
  readonly deployRamdisk?: string;
  /** Seconds to wait for conductors' locks. */
  readonly lockWait?: number;
}

export interface AccessOptions {
  /** Whether the operator's release option must match. Otherwise, the plan's release is used. */
  readonly planning?: boolean;
  readonly staged?: boolean;
  /** Nodes whose protection `finish` removed, which must not be protected again. */
  readonly unprotected?: () => ReadonlySet<string>;
}

/** Access to Ironic through its database or its API. */
export type Backend = ReturnType<typeof databaseBackend> | ReturnType<typeof restBackend>;

/** The backend of the options. @throws MigrationError N2I-E100 if they select none or both */
export async function openBackend(
  options: TargetOptions,
  mappings: Mappings,
  access: { readonly readOnly: boolean },
  warn: (text: string) => void,
): Promise<Backend> {
  const asksGlance = [options.deployKernel, options.deployRamdisk].some((image) =>
    image?.startsWith(BY_NAME),
  );
  const cloud = options.osCloud !== undefined && !(options.ironicDb && asksGlance);
  const rest = options.via === "rest" || options.ironicUrl !== undefined || cloud;
  if (options.ironicDb !== undefined && rest)
    throw new MigrationError("N2I-E100", "--ironic-db and REST options are mutually exclusive", {
      fix: "Remove --ironic-db, or remove --via rest, --ironic-url and --os-cloud.",
    });
  if (rest) return restBackend(cloudOfOptions(options, warn), options, mappings);
  if (options.ironicDb === undefined)
    throw new MigrationError("N2I-E100", "the location of Ironic is missing", {
      fix: "Add --ironic-db, --ironic-url or --os-cloud. To log in with OS_* variables, add --via rest.",
    });
  return databaseBackend(await openRole("ironic-db", options.ironicDb, access), mappings, options);
}

export function databaseBackend(
  database: Database,
  mappings: Mappings,
  { lockWait = 0 }: Pick<TargetOptions, "lockWait"> = {},
) {
  return {
    kind: "db" as const,
    label: database.label,
    same: sameSecret,
    /** @param requested the release, if it is ambiguous @throws MigrationError N2I-E2... */
    async open(
      requested: string | undefined,
      seal: Seal,
      { planning = false, staged = false }: AccessOptions = {},
    ) {
      const found = await identifyTarget(database, mappings, requested);
      if (planning) expectRelease(found.release, requested);
      const { identity, release } = found;
      const load = { staged, lockWait: lockWait * 1000, rest };
      return {
        ...found,
        target: createTarget({ database, release, seal }, identity, failpoint, load),
      };
    },
    /** The access that removes a node's protection, its lock, and machines in progress at once. */
    async guard(requested: string | undefined) {
      const { identity, release } = await identifyTarget(database, mappings, requested);
      const guard = createGuard(database, release);
      return { identity, release, guard, inFlight: 1, lock: () => lockTarget(database) };
    },
    identify: async (requested: string | undefined) =>
      (await identifyTarget(database, mappings, requested)).identity,
    /** Waits for the transaction of an earlier run, if any. @throws MigrationError N2I-E318 */
    committed: () => committed(database),
    oldest: (most: number) => oldestNodes(database, most),
    /** Foreign keys that slow deletion. */
    scannedKeys: () => scannedKeys(database),
    close: database.close,
  };
}

/** REST has no lock. */
const NO_LOCK: Lock = { check: () => Promise.resolve(), release: () => Promise.resolve() };

/** Machines in progress at once, as many as a conductor starts by itself. */
const IN_FLIGHT = 8;

/** If the API does not accept a value, suggests the database backend, which does. */
function orByRows(cause: unknown): never {
  if (!(cause instanceof MigrationError) || cause.code !== "N2I-E209") throw cause;
  const fix = `${cause.fix.replace(/\.$/, "")}, or load the machines into the database with --ironic-db.`;
  throw new MigrationError(cause.code, cause.message, { cause, fix });
}

function restBackend(
  { cloud, limit }: ReturnType<typeof cloudOfOptions>,
  { inFlight = IN_FLIGHT, lockWait = 0 }: TargetOptions,
  { releases, rest }: Mappings,
) {
  const most = Math.floor(inFlight);
  const services: RestService[] = [];
  const open = async (requested: string | undefined): Promise<RestService> => {
    const service = await waitingFor("logging in and reading the version of Ironic", () =>
      openService(cloud, releases, rest, requested, limit).catch(orByRows),
    );
    services.push(service);
    return service;
  };
  return {
    kind: "rest" as const,
    label: cloud.endpoints.baremetal ?? cloud.from,
    same: sameOver,
    async open(
      requested: string | undefined,
      seal: Seal,
      { planning = false, unprotected }: AccessOptions = {},
    ) {
      const service = await open(requested);
      if (planning) expectServiceRelease(service, requested);
      const { identity, release } = service;
      const driving = {
        ...{ inFlight: most, lockWait: lockWait * 1000 },
        ...(unprotected && { unprotected: unprotected() }),
      };
      const target = createRestTarget(service, rest, seal, driving, failpoint);
      return { identity, release, target };
    },
    async guard(requested: string | undefined) {
      const service = await open(requested);
      const { identity, release } = service;
      const guard = createRestGuard(service, rest, most);
      return { identity, release, guard, inFlight: most, lock: () => Promise.resolve(NO_LOCK) };
    },
    identify: async (requested: string | undefined) => (await open(requested)).identity,
    committed: () => Promise.resolve(),
    oldest: null,
    scannedKeys: null,
    async close() {
      for (const { session } of services) session.close();
    },
  };
}
