import { cutSmaller } from "../engine/batches.ts";
import type { Journal } from "./files/journal.ts";

/**
 * For tests: NOVA2IRONIC_FAILPOINT=POINT:N:kill sends SIGKILL at the Nth pass of POINT. `:pause`
 * reports it on stderr, and waits for SIGUSR2.
 */
const [activePoint, nth, action] = (process.env.NOVA2IRONIC_FAILPOINT ?? "").split(":");
let passed = 0;

// Machines per transaction, for the same tests. It must not change after a plan was started.
const { NOVA2IRONIC_BATCH: batch } = process.env;
if (batch !== undefined && /^[1-9]\d{0,2}$/.test(batch)) cutSmaller(Number(batch));

export async function failpoint(point: string): Promise<void> {
  if (point !== activePoint) return;
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

/** Around every journal entry: `begin.before`, `nova.begin.after`, `switchover-power.end.before` */
export function withFailpoints(journal: Journal): Journal {
  if (!activePoint) return journal;
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
