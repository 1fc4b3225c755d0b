import { cutSmaller } from "../engine/batches.ts";
import type { Journal } from "./files/journal.ts";

/**
 * A place where a test lets this process die or pause: NOVA2IRONIC_FAILPOINT=POINT:N:kill ends it
 * with SIGKILL the Nth time it passes POINT; `:pause` waits there, telling so on stderr, until it
 * is sent SIGUSR2. Without the variable nothing happens.
 */
const [wanted, nth, action] = (process.env.NOVA2IRONIC_FAILPOINT ?? "").split(":");
let passed = 0;

// How many machines a transaction takes, for the same tests. Of a plan that was begun it must not change.
const { NOVA2IRONIC_BATCH: batch } = process.env;
if (batch !== undefined && /^[1-9]\d{0,2}$/.test(batch)) cutSmaller(Number(batch));

export async function failpoint(point: string): Promise<void> {
  if (point !== wanted) return;
  passed += 1;
  if (passed !== Number(nth ?? 1)) return;
  if (action === "pause") {
    const resumed = new Promise<void>((resolve) => process.once("SIGUSR2", resolve));
    process.stderr.write(`failpoint ${point}\n`);
    const alive = setInterval(() => {}, 1000);
    await resumed;
    clearInterval(alive);
    return;
  }
  process.kill(process.pid, "SIGKILL");
  await new Promise(() => {});
}

/** The journal with failpoints around every entry: `begin.before`, `nova.begin.after`, `switchover-power.end.before` ... */
export function withFailpoints(journal: Journal): Journal {
  if (!wanted) return journal;
  return {
    ...journal,
    async append(entry) {
      const part = "part" in entry ? entry.part : "";
      const names = [
        `${part.startsWith("nova-") ? "nova." : ""}${entry.do}`,
        `${part}.${entry.do}`,
      ];
      for (const name of names) await failpoint(`${name}.before`);
      await journal.append(entry);
      for (const name of names) await failpoint(`${name}.after`);
    },
  };
}
