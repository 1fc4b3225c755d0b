/** A request to an instance that no nova-compute began: a row of instance_actions without an event of one. */
export interface OpenRequest {
  readonly action: string;
  /** Naive UTC. */
  readonly at: string | null;
  /** Whether a nova-compute began a later one: it had worked off what lay before it. */
  readonly overtaken: boolean;
}

/**
 * What a nova-compute is sent without waiting for an answer, does to a machine, and tells of by an event
 * of its own in every release that records the action. Not among them: what nova-api does by itself
 * (lock), what goes to another host (evacuate, resize), and calls (attach_interface, changePassword),
 * which RabbitMQ drops when the caller's patience ends.
 *
 * @source nova 2013.1 to 33.0.0 compute/instance_actions.py, compute/rpcapi.py, wrap_instance_event in
 *   compute/manager.py; oslo.messaging 14.0.0 _drivers/impl_rabbit.py: expiration
 */
const EXECUTED: ReadonlySet<string> = new Set([
  ...["stop", "start", "reboot", "rebuild", "delete", "restore", "rescue", "unrescue"],
  ...["pause", "unpause", "suspend", "resume", "shelve", "shelveOffload", "unshelve"],
  ...["create", "trigger_crash_dump", "detach_interface"],
  ...["attach_volume", "detach_volume", "swap_volume", "extend_volume"],
]);

/**
 * Whether a request still lies in the message queue of its host: that was not seen since. Until Kilo
 * nothing tells when it was, since each change of its service renews `updated_at`. `finish_time` stays
 * NULL for what was done, too.
 *
 * @param seen when the host reported last, naive UTC; null where nothing tells
 * @source facts/systems-measured.md A1+, A2+
 */
export function isWaiting({ action, at, overtaken }: OpenRequest, seen: string | null): boolean {
  return EXECUTED.has(action) && !overtaken && (seen === null || at === null || at >= seen);
}

/** RabbitMQ's queue of requests to a host's nova-compute. */
export function queueOf(host: string): string {
  return `compute.${host}`;
}

/** What waits for a host's nova-compute, and the command that takes it away, for people. */
export function requestText({ action, at }: OpenRequest, host: string): string {
  return `${action} of ${at ?? "an unknown time"} waits for the nova-compute of ${host} (rabbitmqctl purge_queue ${queueOf(host)})`;
}

/** The same of a task_state that no request of instance_actions explains. */
export function taskStateText(state: string, host: string): string {
  return `task_state ${state} is set, and its request may wait for the nova-compute of ${host} if that is dead (rabbitmqctl purge_queue ${queueOf(host)})`;
}

/**
 * What Nova does with an instance; null: nothing. A nova-compute empties task_state as it begins a build.
 *
 * @source nova compute/manager.py _start_building
 */
export function busyText(
  {
    task_state,
    vm_state,
  }: { readonly task_state: string | null; readonly vm_state: string | null },
  host: string,
): string | null {
  if (task_state !== null) return taskStateText(task_state, host);
  return vm_state === "building"
    ? `vm_state is building, and its build may wait for the nova-compute of ${host} if that is dead (rabbitmqctl purge_queue ${queueOf(host)})`
    : null;
}

/** What is left to do at the message broker, for people. */
export function queueText(host: string): string {
  return `Before nova-compute of ${host} is started again, on the message broker: rabbitmqctl purge_queue ${queueOf(host)}`;
}
