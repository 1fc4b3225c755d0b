import { MigrationError } from "../../lib/error.ts";
import { cloudFor, type RestOptions, saysCloud } from "../../run/cloud.ts";
import type { Keep } from "../../run/databases.ts";
import { waitingFor } from "../../run/wait-message.ts";
import type { Cloud } from "../../systems/openstack/cloud.ts";

interface Closable {
  readonly close: () => void;
}

/** A service that helps, and that nothing waits for. */
interface BesideService<T> {
  /** Null without a login, where no catalog says where it is, and where it does not answer, which is said. */
  readonly service: () => Promise<T | null>;
  /** What it answers; null where it does not, which is said. */
  readonly asked: <R>(ask: () => Promise<R>) => Promise<R | null>;
}

interface Opening<T> {
  readonly keep: Keep;
  readonly say: (text: string) => void;
  readonly name: string;
  /** @param limit milliseconds a call may take */
  readonly open: (cloud: Cloud, limit: number) => Promise<T>;
}

/** Seconds a call may take. */
const LIMIT = 60;
/** Milliseconds after which one that did not answer is asked again. */
const AGAIN = 60_000;
/** Codes of a service that does not answer, refuses its login, or what it is asked. */
const SILENT: readonly string[] = ["N2I-E210", "N2I-E211", "N2I-E212"];

/**
 * A service that is opened at the first question. In a night in which a host dies others may be down: that is said,
 * and what can be done without it goes on.
 *
 * @throws MigrationError N2I-E106 where the login itself is none
 */
export function beside<T extends Closable>(
  words: RestOptions,
  { keep, say, name, open }: Opening<T>,
): BesideService<T> {
  const cloud = saysCloud(words) ? cloudFor(words) : null;
  const limit = (words.apiTimeout ?? LIMIT) * 1000;
  let known: T | null = null;
  let failed = Number.NEGATIVE_INFINITY;
  const quietly = async <R>(work: () => Promise<R>): Promise<R | null> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof MigrationError)) throw error;
      if (error.code !== "N2I-E106" && !SILENT.includes(error.code)) throw error;
      failed = performance.now();
      say(`Warning: ${name} is not asked: ${error.message}.`);
      return null;
    }
  };
  return {
    async service() {
      if (known !== null || cloud === null || performance.now() - failed < AGAIN) return known;
      known = await quietly(() => waitingFor(`logging in at ${name}`, () => open(cloud, limit)));
      if (known !== null) {
        const { close } = known;
        keep({
          close() {
            close();
            return Promise.resolve();
          },
        });
      }
      return known;
    },
    asked: quietly,
  };
}
