import { type LogFault, logFaults } from "../../lib/quotes.ts";

type Lines = AsyncIterable<{ readonly line: number; readonly text: string }>;

interface ComputeStart {
  readonly line: number;
  /** As in nova.conf: `ironic.IronicDriver`, before Liberty `nova.virt.ironic.IronicDriver`. */
  readonly driver: string;
}

/** Each nova-compute logs this line first when it starts, since Havana. */
const LOADING = /Loading compute driver '([^']+)'/;
const IRONIC = /(?:^|\.)ironic\.(?:driver\.)?IronicDriver$/;
/** Warnings of the ironic driver without a connection or without resources. */
const UNCONNECTED =
  /Unable to authenticate Ironic client|Error contacting Ironic|not retrieve node list|cpu_arch not defined|Power state \S+ not found/i;

export async function lastStart(lines: Lines): Promise<ComputeStart | null> {
  let last: ComputeStart | null = null;
  for await (const { line, text } of lines) {
    const driver = LOADING.exec(text)?.[1];
    if (driver !== undefined) last = { line, driver };
  }
  return last;
}

/**
 * No release logs a successful connection at INFO, so only Nova's rows prove that resources are
 * reported.
 *
 * @param since lines from the start on
 * @source facts/systems.md D4, R24; nova 26.2 virt/driver.py load_compute_driver, virt/ironic
 */
export async function* computeFaults(
  start: ComputeStart | null,
  since: Lines,
): AsyncGenerator<LogFault> {
  if (start === null) {
    yield { line: 1, text: "it has no nova-compute start: pass a log that begins earlier" };
    return;
  }
  const { line, driver } = start;
  if (!IRONIC.test(driver))
    yield { line, text: `nova-compute was started with the driver ${driver}, not ironic's` };
  yield* logFaults(since, UNCONNECTED);
}
