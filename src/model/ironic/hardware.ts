/** Since a release, or between two: `ocata`, `juno..queens`. */
type Releases = string;

type ByName = { readonly [name: string]: Releases };

/** Drivers in Ironic's own tree. Described in mappings/schema/hardware.schema.json */
export interface Hardware {
  readonly classic: {
    readonly [name: string]: { readonly releases: Releases; readonly needs?: string };
  };
  readonly types: {
    readonly [name: string]: {
      readonly releases: Releases;
      readonly interfaces: { readonly [kind: string]: ByName };
    };
  };
  readonly needs: {
    readonly [name: string]: { readonly required: ByName; readonly login?: readonly string[] };
  };
}

export interface Driver {
  readonly interfaces: ReadonlyMap<string, readonly string[]> | null;
  /** Needs of a classic driver. A hardware type has them by interface. */
  readonly requirements: ReleaseRequirements | null;
}

interface ReleaseRequirements {
  readonly required: readonly string[];
  readonly login: readonly string[];
}

export interface ReleaseHardware {
  readonly drivers: ReadonlyMap<string, Driver>;
  /** By power or management interface. */
  readonly requirements: ReadonlyMap<string, ReleaseRequirements>;
  /** Drivers of other releases, with their releases: `juno..ocata`. */
  readonly elsewhere: ReadonlyMap<string, Releases>;
}

/** Hardware of one release. @param releases oldest first */
export function hardwareOf(
  { classic, types, needs: requirements }: Hardware,
  release: string,
  releases: readonly string[],
): ReleaseHardware {
  const at = releases.indexOf(release);
  const has = (span: Releases): boolean => {
    const [first = "", last = first] = span.split("..");
    const until = span.includes("..") ? releases.indexOf(last) : releases.length;
    return releases.indexOf(first) <= at && at <= until;
  };
  const names = (by: ByName): readonly string[] =>
    Object.entries(by).flatMap(([name, span]) => (has(span) ? [name] : []));
  const needed = new Map(
    Object.entries(requirements).map(([name, { required, login = [] }]) => [
      name,
      { required: names(required), login },
    ]),
  );
  const drivers = new Map<string, Driver>();
  const elsewhere = new Map<string, Releases>();
  for (const [name, { releases: span, interfaces }] of Object.entries(types))
    if (has(span)) {
      const kinds = Object.entries(interfaces).map(([kind, by]) => [kind, names(by)] as const);
      drivers.set(name, { interfaces: new Map(kinds), requirements: null });
    } else elsewhere.set(name, span);
  for (const [name, { releases: span, needs: key }] of Object.entries(classic))
    if (has(span))
      drivers.set(name, {
        interfaces: null,
        requirements: (key === undefined ? undefined : needed.get(key)) ?? null,
      });
    else elsewhere.set(name, span);
  return { drivers, requirements: needed, elsewhere };
}

export function releasesIn({ classic, types, needs: requirements }: Hardware): readonly string[] {
  const spans = [
    ...Object.values(classic).map(({ releases }) => releases),
    ...Object.values(types).flatMap(({ releases, interfaces }) => [
      releases,
      ...Object.values(interfaces).flatMap((by) => Object.values(by)),
    ]),
    ...Object.values(requirements).flatMap(({ required }) => Object.values(required)),
  ];
  return [...new Set(spans.flatMap((span) => span.split("..")))];
}
