/** Of a release on, or from one to another: `ocata`, `juno..queens`. */
type Releases = string;

type ByName = { readonly [name: string]: Releases };

/** Keys of driver_info that an interface, or a classic driver, does not work without. */
interface Needs {
  readonly required: ByName;
  /** Not asked for by Ironic, and almost every BMC's. */
  readonly login?: readonly string[];
}

/** The drivers of Ironic's own tree. mappings/schema/hardware.schema.json has the form. */
export interface Hardware {
  /** Drivers that have their interfaces in them, and the name of what they need. */
  readonly classic: {
    readonly [name: string]: { readonly releases: Releases; readonly needs?: string };
  };
  /** Hardware types; interfaces by kind: `power`. */
  readonly types: {
    readonly [name: string]: {
      readonly releases: Releases;
      readonly interfaces: { readonly [kind: string]: ByName };
    };
  };
  readonly needs: { readonly [name: string]: Needs };
}

/** A driver as one release has it. */
export interface Driver {
  /** Names of interfaces by kind; null for a classic driver, which has them in it. */
  readonly interfaces: ReadonlyMap<string, readonly string[]> | null;
  /** What a classic driver needs; of a hardware type each interface says it. */
  readonly needs: ReleaseNeeds | null;
}

export interface ReleaseNeeds {
  readonly required: readonly string[];
  readonly login: readonly string[];
}

/** The drivers of one release. */
export interface ReleaseHardware {
  readonly drivers: ReadonlyMap<string, Driver>;
  /** By interface of power and management. */
  readonly needs: ReadonlyMap<string, ReleaseNeeds>;
  /** Drivers of other releases, and of which: `juno..ocata`. */
  readonly elsewhere: ReadonlyMap<string, Releases>;
}

/** What one of these releases, oldest first, has. */
export function hardwareOf(
  { classic, types, needs }: Hardware,
  release: string,
  releases: readonly string[],
): ReleaseHardware {
  const at = releases.indexOf(release);
  // Of hundreds of names, each with its span, a handful of spans differ.
  const spans = new Map<Releases, boolean>();
  const has = (span: Releases): boolean => {
    const known = spans.get(span);
    if (known !== undefined) return known;
    const [first = "", last = first] = span.split("..");
    const until = span.includes("..") ? releases.indexOf(last) : releases.length;
    const within = releases.indexOf(first) <= at && at <= until;
    spans.set(span, within);
    return within;
  };
  const names = (by: ByName): readonly string[] =>
    Object.entries(by).flatMap(([name, span]) => (has(span) ? [name] : []));
  const needed = new Map(
    Object.entries(needs).map(([name, { required, login = [] }]) => [
      name,
      { required: names(required), login },
    ]),
  );
  const drivers = new Map<string, Driver>();
  const elsewhere = new Map<string, Releases>();
  for (const [name, { releases: span, interfaces }] of Object.entries(types))
    if (has(span)) {
      const kinds = Object.entries(interfaces).map(([kind, by]) => [kind, names(by)] as const);
      drivers.set(name, { interfaces: new Map(kinds), needs: null });
    } else elsewhere.set(name, span);
  for (const [name, { releases: span, needs: key }] of Object.entries(classic))
    if (has(span))
      drivers.set(name, {
        interfaces: null,
        needs: (key === undefined ? undefined : needed.get(key)) ?? null,
      });
    else elsewhere.set(name, span);
  return { drivers, needs: needed, elsewhere };
}

/** Names of releases a document speaks of. */
export function releasesIn({ classic, types, needs }: Hardware): readonly string[] {
  const spans = [
    ...Object.values(classic).map(({ releases }) => releases),
    ...Object.values(types).flatMap(({ releases, interfaces }) => [
      releases,
      ...Object.values(interfaces).flatMap((by) => Object.values(by)),
    ]),
    ...Object.values(needs).flatMap(({ required }) => Object.values(required)),
  ];
  return [...new Set(spans.flatMap((span) => span.split("..")))];
}
