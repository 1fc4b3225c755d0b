import { setTimeout as sleep } from "node:timers/promises";
import { SERVERS } from "./binaries.ts";
import { connect } from "./connect.ts";
import type { Daemon } from "./daemon.ts";
import { type Coordinates, type Server, serverAt } from "./server.ts";

/** The slowest machine needs seconds for making the data folder and starting. */
const PATIENCE_MS = 120_000;

/** Waits until a server that was just started answers its superuser. */
export async function ready(at: Coordinates, daemon: Daemon): Promise<Server> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const cause = await refusal(at);
    if (cause === null) return serverAt(at, daemon.stop);
    if (!daemon.running() || Date.now() > until) {
      await daemon.stop();
      throw new Error(`${SERVERS[at.engine].title} did not start\n${daemon.lastWords()}`, {
        cause,
      });
    }
    await sleep(50);
  }
}

async function refusal(at: Coordinates): Promise<unknown> {
  const db = connect({ ...at, database: SERVERS[at.engine].home });
  try {
    await db.raw("SELECT 1");
    return null;
  } catch (cause) {
    return cause;
  } finally {
    await db.destroy();
  }
}
