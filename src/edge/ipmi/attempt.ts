import { type Channel, openChannel } from "./channel.ts";
import { isBusy, isLevelRefused } from "./codes.ts";
import { COMMANDS, parseChassis, parseDevice } from "./commands.ts";
import type { Credentials } from "./credentials.ts";
import { logIn } from "./login.ts";
import { type Attempt, LEVELS, type Outcome } from "./outcome.ts";
import { forget } from "./rakp.ts";
import type { Talk } from "./talk.ts";

/** Device ID is for the record only: not worth a long wait. Milliseconds. */
const DEVICE_WAITS = [1000, 1500];

/**
 * One login with its commands; the session is closed again, whatever comes of it.
 *
 * @throws the signal's reason when it is aborted; a login that is past RAKP 3 is ended first
 */
export async function attemptOnce(
  talk: Talk,
  credentials: Credentials,
  attempt: Attempt,
  each: { readonly tag: number; readonly wait: number },
): Promise<Outcome> {
  const session = await logIn(talk, credentials, attempt, each);
  if (session.kind !== "open" && session.kind !== "half-open") return session;
  const channel = openChannel(talk, session);
  try {
    if (session.kind === "half-open") {
      channel.leave();
      return { kind: "silent", stage: "RAKP 4" };
    }
    return await work(channel, LEVELS[attempt.level]).finally(channel.close);
  } finally {
    forget(session.keys);
  }
}

/** A session begins at USER; asking for our level shows what the conductor will meet. */
async function work(channel: Channel, level: number): Promise<Outcome> {
  const raised = await channel.ask(COMMANDS.privilege, [level]);
  if (raised === null) return { kind: "silent", stage: "session" };
  if (isLevelRefused(raised.code)) return { kind: "level", code: raised.code };
  if (raised.code !== 0) return refused(COMMANDS.privilege.name, raised.code);

  const status = await channel.ask(COMMANDS.chassis);
  if (status === null) return { kind: "silent", stage: "session" };
  if (status.code !== 0) return refused(COMMANDS.chassis.name, status.code);
  const chassis = parseChassis(status.data);
  if (chassis === null)
    return { kind: "odd", words: "Get Chassis Status is answered without data" };

  const about = await channel.ask(COMMANDS.device, [], DEVICE_WAITS);
  const device = about?.code === 0 ? parseDevice(about.data) : null;
  return { kind: "answered", chassis, device, checksumsWrong: channel.checksumsWrong() };
}

function refused(command: string, code: number): Outcome {
  if (code === 0xd4) return { kind: "level", code };
  return isBusy(code) ? { kind: "busy", code } : { kind: "code", command, code };
}
