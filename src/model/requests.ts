/** A request to an instance that no nova-compute began: a row of instance_actions without an event. */
export interface OpenRequest {
  readonly action: string;
  /** Naive UTC. */
  readonly at: string | null;
  /** Whether a nova-compute began a later one: it had worked off what lay before it. */
  readonly overtaken: boolean;
}

/**
 * What a nova-compute does to a machine, and tells of by an event, in every release. Others (lock,
 * createImage) never have one.
 *
 * @source nova compute/instance_actions.py, wrap_instance_event in compute/manager.py
 */
const EXECUTED: ReadonlySet<string> = new Set([
  ...["stop", "start", "reboot", "rebuild", "delete", "restore", "rescue", "unrescue"],
  ...["pause", "unpause", "suspend", "resume", "shelve", "unshelve"],
]);

/**
 * Whether a request still lies in the message queue of its host: that was not seen since. Until Kilo
 * nothing tells when it was, as any change of its service renews `updated_at`. `finish_time` stays
 * NULL for what was done, too.
 *
 * @param seen when the host reported last, naive UTC; null where nothing tells
 * @source facts/systems-measured.md A1+, A2+
 */
export function isWaiting({ action, at, overtaken }: OpenRequest, seen: string | null): boolean {
  return EXECUTED.has(action) && !overtaken && (seen === null || at === null || at >= seen);
}

/** What waits for a host's nova-compute, and the command that takes it away, for people. */
export function requestText({ action, at }: OpenRequest, host: string): string {
  return `${action} of ${at ?? "an unknown time"} waits for the nova-compute of ${host} (rabbitmqctl purge_queue compute.${host})`;
}

/** The same of a task_state that no request of instance_actions explains. */
export function taskStateText(state: string, host: string): string {
  return `task_state ${state} is set, and its request may wait for the nova-compute of ${host} if that is dead (rabbitmqctl purge_queue compute.${host})`;
}
