import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Name, password, ids, comment, home, shell. @source passwd(5) */
const HOME = 5;

/**
 * A path with its `~` or `~user` replaced, as openstacksdk has python do it. Users are those of the
 * system's own file: of a directory service's this knows nothing.
 *
 * @returns null when there is no such user
 * @source python, os.path.expanduser; there an unknown user's path stays as it is
 */
export function expandUser(path: string, home: string, passwd = "/etc/passwd"): string | null {
  const [tilde, user] = /^~([^/]*)/.exec(path) ?? [];
  if (tilde === undefined || user === undefined) return path;
  const place = user === "" ? home : homeOf(user, passwd);
  return place === null ? null : join("/", place.replace(/\/+$/, ""), path.slice(tilde.length));
}

function homeOf(user: string, passwd: string): string | null {
  try {
    const lines = readFileSync(passwd, "utf8").split("\n");
    const own = lines.map((line) => line.split(":")).find(([name]) => name === user);
    return own?.[HOME] || null;
  } catch {
    return null;
  }
}
