/**
 * Does it with the first, then with all others at once. If two requests are the first ones of a nova-compute to Ironic,
 * its client library refuses one (`UnsupportedVersion`).
 *
 * @source python-ironicclient 5.0.1, which Nova 26 shares between threads while it negotiates a version
 */
export async function firstAlone<T, R>(
  [first, ...others]: readonly T[],
  does: (one: T) => Promise<R>,
): Promise<readonly R[]> {
  const alone = first === undefined ? [] : [await does(first)];
  return [...alone, ...(await Promise.all(others.map(does)))];
}

/**
 * Nova's power sync uses a list of nodes that is up to one period of its resource tracker old, and stops a server once
 * more that was stopped since. A tenant's request meets that task (409), or is met by it between two of its own steps
 * (500). The tenant repeats it a little later.
 *
 * @returns the reason; @throws any other fault
 * @source nova 26.2 compute/manager.py: _sync_instance_power_state; virt/ironic/driver.py: get_info
 */
export function stopsOnceMore(cause: Error): string {
  if (/: 409 .* in task_state |UnexpectedTaskStateError/.test(cause.message)) return cause.message;
  throw cause;
}

/**
 * Nova reserves a node by one PATCH, and does not repeat it. If Ironic's power sync has the node locked at that moment
 * (409), the new server is in ERROR. The tenant deletes it, and asks for a server again.
 *
 * @returns the reason; @throws any other fault, and this one the third time
 * @source nova 26.2 virt/ironic/driver.py: _set_instance_id, with retry_on_conflict=False
 */
export function reservesOnceMore(cause: Error, times: number): string {
  if (times < 3 && /Failure prepping block device/.test(cause.message)) return cause.message;
  throw cause;
}
