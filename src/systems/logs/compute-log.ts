import { type LogFault, logFaults } from "../../lib/quotes.ts";

type Lines = AsyncIterable<{ readonly line: number; readonly text: string }>;

/** Where a nova-compute began, by its log. */
interface ComputeStart {
  readonly line: number;
  /** As nova.conf names it: `ironic.IronicDriver`, before Liberty `nova.virt.ironic.IronicDriver`. */
  readonly driver: string;
}

/** The first thing each start says, Havana to today. */
const LOADING = /Loading compute driver '([^']+)'/;
const IRONIC = /(?:^|\.)ironic\.(?:driver\.)?IronicDriver$/;
/** What the ironic driver says at WARNING when it is not connected, or gives no resources. */
const UNCONNECTED =
  /Unable to authenticate Ironic client|Error contacting Ironic|not retrieve node list|cpu_arch not defined|Power state \S+ not found/i;

/** The last start that a log tells of; null: of none. */
export async function lastStart(lines: Lines): Promise<ComputeStart | null> {
  let last: ComputeStart | null = null;
  for await (const { line, text } of lines) {
    const driver = LOADING.exec(text)?.[1];
    if (driver !== undefined) last = { line, driver };
  }
  return last;
}

/**
 * What is wrong with the nova-compute that started last: no start, another driver, and what it
 * complains of since. That it is connected is the absence of complaints: no release says it in a
 * line at INFO, so Nova's own rows are the proof that resources are reported.
 *
 * @param since the log's lines from the start on
 * @source facts/systems.md D4, R24; nova 26.2 virt/driver.py load_compute_driver, virt/ironic
 */
export async function* computeFaults(
  start: ComputeStart | null,
  since: Lines,
): AsyncGenerator<LogFault> {
  if (start === null) {
    yield { line: 1, text: "no start of nova-compute in it; give a log that begins before one" };
    return;
  }
  const { line, driver } = start;
  if (!IRONIC.test(driver))
    yield { line, text: `nova-compute was started with the driver ${driver}, not ironic's` };
  yield* logFaults(since, UNCONNECTED);
}
