export interface Conductor {
  readonly hostname: string;
  /** Empty: default group, and before Rocky. Null: API before 1.49. */
  readonly group: string | null;
  /** Online, with a heartbeat within `HEARTBEAT` seconds. */
  readonly alive: boolean;
  /** Drivers, or hardware types since Ocata. */
  readonly drivers: readonly string[];
}

/** Whether the conductor serves this group, or may serve it. */
export function isOfGroup({ group }: Conductor, expected: string): boolean {
  return group === null || group === expected;
}

/** An interface that a conductor enables for a hardware type: `ipmi`, `boot`, `pxe`. */
export interface EnabledInterface {
  /** Null: the API reports all conductors together. */
  readonly hostname: string | null;
  readonly driver: string;
  readonly type: string;
  readonly name: string;
  /** Default for nodes. Absent: the API reports all conductors together. */
  readonly isDefault?: boolean;
}

export interface Service {
  readonly conductors: readonly Conductor[];
  /** Null before Ocata, whose conductors do not report them. */
  readonly interfaces: readonly EnabledInterface[] | null;
  /** Locked nodes: uuid and holder. */
  readonly reserved: readonly { readonly uuid: string; readonly by: string }[];
}

/** Enabled interface names of a driver, by interface type. */
export function enabledBy(
  interfaces: Service["interfaces"],
  conductors: readonly Conductor[],
  driverName: string,
): ReadonlyMap<string, ReadonlySet<string>> {
  const hosts = new Set(conductors.map(({ hostname }) => hostname));
  const enabled = new Map<string, Set<string>>();
  for (const { hostname, driver, type, name } of interfaces ?? [])
    if (driver === driverName && (hostname === null || hosts.has(hostname)))
      enabled.set(type, (enabled.get(type) ?? new Set()).add(name));
  return enabled;
}

/** After this many seconds a conductor is dead. @source ironic: [conductor]heartbeat_timeout */
export const HEARTBEAT = 60;

/** Default of `--watch`: seconds to check that nova-compute is stopped. */
export const WATCH_SECONDS = 20;
