/** What tells one database from another, as far as an artefact holds it. */
interface Named {
  readonly engine?: string;
  readonly address?: string;
  readonly database?: string;
  readonly server?: string;
}

const FIELDS = ["engine", "address", "database", "server"] as const;

/** Names that no second server has by chance: of a cluster, of a data folder. */
const UNIQUE = /^(wsrep cluster|server_uuid|system) \S/;

/**
 * Fields by which two databases are not the same. Where the server has a name of its own the address
 * says nothing: a cluster goes on through another node when one dies, and a service moves.
 */
export function otherServer(planned: Named, found: Named): readonly (typeof FIELDS)[number][] {
  const certain = UNIQUE.test(found.server ?? "") && found.server === planned.server;
  const changed = FIELDS.filter((field) => planned[field] !== found[field]);
  if (certain) return changed.filter((field) => field !== "address");
  // What an earlier version wrote lacks that name; the rest, and the address, must be the same.
  const shorter = planned.server !== undefined && found.server?.endsWith(` ${planned.server}`);
  return shorter ? changed.filter((field) => field !== "server") : changed;
}
