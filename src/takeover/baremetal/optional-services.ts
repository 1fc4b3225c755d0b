import { MigrationError } from "../../lib/error.ts";
import { cloudFor, hasLogin, type RestOptions } from "../../run/cloud.ts";
import type { Keep } from "../../run/databases.ts";
import { waitingFor } from "../../run/process-context.ts";
import type { Database } from "../../systems/database/open.ts";
import type { Cloud } from "../../systems/openstack/cloud.ts";

/** Open databases, for services that are opened in addition. */
export interface Opening {
  readonly leases: Database;
  readonly nova: Database;
  readonly keep: Keep;
  readonly report: (text: string) => void;
}

const LIMIT = 60;
/** Milliseconds until the next attempt after a failure. */
const AGAIN = 60_000;
/** The service has no endpoint, does not answer, or refuses the login or the request. */
const SILENT: readonly string[] = ["N2I-E106", "N2I-E210", "N2I-E211", "N2I-E212"];

/**
 * An unavailable service is a warning: when a host dies, other services may be down as well.
 *
 * @param open its parameter `limit` is the maximum milliseconds of a call
 * @throws MigrationError N2I-E106 for an incomplete login
 */
export function openOptional<T extends { readonly close: () => void }>(
  options: RestOptions,
  { keep, report }: Opening,
  name: string,
  open: (cloud: Cloud, limit: number) => Promise<T>,
) {
  const cloud = hasLogin(options) ? cloudFor(options) : null;
  const limit = (options.apiTimeout ?? LIMIT) * 1000;
  let opened: T | null = null;
  let failed = Number.NEGATIVE_INFINITY;
  /** The result of a call; null with a warning if it fails. */
  const quietly = async <R>(work: () => Promise<R>): Promise<R | null> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof MigrationError && SILENT.includes(error.code))) throw error;
      failed = performance.now();
      report(`Warning: ${name} is not used: ${error.message}.`);
      return null;
    }
  };
  /** Null without a login or endpoint, or with a warning if it does not answer. */
  const service = async (): Promise<T | null> => {
    if (opened !== null || cloud === null || performance.now() - failed < AGAIN) return opened;
    opened = await quietly(() => waitingFor(`logging in to ${name}`, () => open(cloud, limit)));
    if (opened !== null) keep(opened);
    return opened;
  };
  return {
    service,
    /** The answer, or null as `service`. */
    async ask<R>(question: (of: T) => Promise<R>): Promise<R | null> {
      const found = await service();
      return found && quietly(() => question(found));
    },
  };
}
