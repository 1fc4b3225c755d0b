/** A conductor as Ironic's database or API tells of it. */
export interface Conductor {
  readonly hostname: string;
  /** Empty: the default group, and every release before Rocky; null: an API before 1.49 does not tell. */
  readonly group: string | null;
  /** It says it is online, and said so within `HEARTBEAT` seconds. */
  readonly alive: boolean;
  /** Drivers, or hardware types since Ocata. */
  readonly drivers: readonly string[];
}

/** Whether a node of this group is, or may be, a conductor's. */
export function isOfGroup({ group }: Conductor, wanted: string): boolean {
  return group === null || group === wanted;
}

/** An interface some conductor has enabled for a hardware type: `ipmi`, `boot`, `pxe`. */
export interface EnabledInterface {
  /** Of the conductor; null: an API tells of all together. */
  readonly hostname: string | null;
  readonly driver: string;
  readonly type: string;
  readonly name: string;
  /** What a node gets that names none; absent where an API tells of all together. */
  readonly isDefault?: boolean;
}

/** What stands behind the tables: who would take the machines over, and with what. */
export interface Service {
  readonly conductors: readonly Conductor[];
  /** Null before Ocata, whose conductors do not tell. */
  readonly interfaces: readonly EnabledInterface[] | null;
  /** Nodes somebody holds a lock on: uuid and holder. */
  readonly reserved: readonly { readonly uuid: string; readonly by: string }[];
}

/** Names that these conductors have enabled for a driver, by the type of the interface. */
export function enabledBy(
  interfaces: Service["interfaces"],
  conductors: readonly Conductor[],
  wanted: string,
): ReadonlyMap<string, ReadonlySet<string>> {
  const hosts = new Set(conductors.map(({ hostname }) => hostname));
  const enabled = new Map<string, Set<string>>();
  for (const { hostname, driver, type, name } of interfaces ?? [])
    if (driver === wanted && (hostname === null || hosts.has(hostname)))
      enabled.set(type, (enabled.get(type) ?? new Set()).add(name));
  return enabled;
}

/** Seconds after which Ironic takes a conductor for dead. @source ironic: [conductor]heartbeat_timeout */
export const HEARTBEAT = 60;

/** Default of `--watch`: seconds that apply and rollback check that nova-compute is stopped. */
export const WATCH_SECONDS = 20;
