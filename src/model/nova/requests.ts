import type { Instance } from "../machine.ts";

/** A row of instance_actions without a nova-compute event. */
export interface OpenRequest {
  readonly action: string;
  /** Naive UTC. */
  readonly at: string | null;
  /** Whether a nova-compute started a later request, and so completed the earlier ones. */
  readonly overtaken: boolean;
}

/**
 * Actions that nova-compute receives as casts, that change the machine, and that have an event in
 * every release. Not included: actions of nova-api (lock), of another host (evacuate, resize), and
 * calls (attach_interface, changePassword), which RabbitMQ drops after the caller's timeout.
 * @source nova 2013.1 to 33.0.0 compute/instance_actions.py, compute/rpcapi.py, wrap_instance_event
 *   in compute/manager.py; oslo.messaging 14.0.0 _drivers/impl_rabbit.py: expiration
 */
const EXECUTED: ReadonlySet<string> = new Set([
  ...["stop", "start", "reboot", "rebuild", "delete", "restore", "rescue", "unrescue"],
  ...["pause", "unpause", "suspend", "resume", "shelve", "shelveOffload", "unshelve"],
  ...["create", "trigger_crash_dump", "detach_interface"],
  ...["attach_volume", "detach_volume", "swap_volume", "extend_volume"],
]);

/**
 * Whether a request is still in its host's queue: the host has not reported since. Until Kilo that
 * time is unknown, because each change of the service renews `updated_at`. `finish_time` is NULL
 * also for completed requests.
 * @param beat last report of the host, naive UTC. Null if unknown
 * @source facts/systems-measured.md A1+, A2+
 */
export function isWaiting({ action, at, overtaken }: OpenRequest, beat: string | null): boolean {
  return EXECUTED.has(action) && !overtaken && (beat === null || at === null || at >= beat);
}

/** RabbitMQ queue of a host's nova-compute. */
export function queueOf(host: string): string {
  return `compute.${host}`;
}

function mayWait(subject: string, host: string): string {
  return `${subject} may wait for nova-compute on ${host} if that service is down (rabbitmqctl purge_queue ${queueOf(host)})`;
}

/** Queued request and the command that purges it, for display. */
export function requestText({ action, at }: OpenRequest, host: string): string {
  return `${action}, requested at ${at ?? "an unknown time"}, waits for nova-compute on ${host} (rabbitmqctl purge_queue ${queueOf(host)})`;
}

export function taskStateText(state: string, host: string): string {
  return mayWait(`task_state ${state} is set, and its request`, host);
}

/**
 * Current work of Nova on an instance, else null. A nova-compute clears task_state when it starts a
 * build.
 * @source nova compute/manager.py _start_building
 */
export function busyText(
  { task_state, vm_state }: Pick<Instance, "task_state" | "vm_state">,
  host: string,
): string | null {
  if (task_state !== null) return taskStateText(task_state, host);
  return vm_state === "building" ? mayWait("vm_state is building, and its build", host) : null;
}

/** Manual step at the message broker, for display. */
export function queueText(host: string): string {
  return `Before you start the nova-compute of ${host}, run on the message broker: rabbitmqctl purge_queue ${queueOf(host)}`;
}
