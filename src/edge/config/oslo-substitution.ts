import type { MigrationError } from "../../model/error.ts";
import type { Assignment } from "./oslo-lines.ts";

/** Real files nest two or three deep; a chain beyond this was made to harm. */
const DEPTH = 64;
/** Characters a value may grow to. */
const LENGTH = 1024 * 1024;

const TEMPLATE = /\$(?:(\$)|([_a-z][_a-z0-9]*)|\{([_a-z][_a-z0-9]*)\})/gi;

/**
 * Gives the function that replaces `$name` and `${name}` in a value by the value of that name, and
 * `$$` and `\$` by `$`. A name nobody knows stays as it stands. `%` means nothing.
 *
 * A value found is itself substituted, with names looked up from the section it stands in. Each is
 * worked out once, so no file makes this take long.
 *
 * @param refuse makes the error for a cycle, or for a value that grows without end
 * @source oslo_config/cfg.py, ConfigOpts._substitute and StrSubWrapper
 */
export function substitution(
  find: (section: string, name: string) => Assignment | undefined,
  refuse: (message: string) => MigrationError,
): (assignment: Assignment) => string {
  const known = new Map<Assignment, string>();
  const value = (assignment: Assignment, trail: readonly Assignment[]): string => {
    const done = known.get(assignment);
    if (done !== undefined) return done;
    const { place, raw, section } = assignment;
    const path = [...trail, assignment];
    if (trail.includes(assignment))
      throw refuse(
        `${place}: ${path
          .slice(trail.indexOf(assignment))
          .map(({ key }) => `$${key}`)
          .join(" -> ")} leads back to itself`,
      );
    if (path.length > DEPTH) throw refuse(`${place}: $names are nested more than ${DEPTH} deep`);
    let length = raw.length;
    const result = raw
      .replaceAll("\\$", "$$$$")
      .replace(TEMPLATE, (whole: string, dollar?: string, plain?: string, braced?: string) => {
        if (dollar !== undefined) return "$";
        const found = find(section, plain ?? braced ?? "");
        const text = found === undefined ? whole : value(found, path);
        length += text.length;
        if (length > LENGTH) throw refuse(`${place}: $names make the value too long`);
        return text;
      });
    known.set(assignment, result);
    return result;
  };
  return (assignment) => value(assignment, []);
}
