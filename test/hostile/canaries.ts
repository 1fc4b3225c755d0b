import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { Ran } from "./cli.ts";

/** A secret made to be found again: two random words with what breaks quoting between them. */
export interface Canary {
  readonly name: string;
  readonly text: string;
  /** The words: one is enough to have leaked a part. */
  readonly words: readonly string[];
}

/** Characters that quoting, URLs, shells, SQL, JSON and 3-byte charsets stumble over. */
const STUMBLES = `%41;'"\\ $ #<&>?@/:=é€🔑`;

export function canary(name: string, between = STUMBLES): Canary {
  const words = [randomBytes(10), randomBytes(10)].map((bytes) => `w${bytes.toString("hex")}`);
  return { name, text: words.join(between), words };
}

/** A word as it stands in text, JSON and URLs, and in base64 (wherever it begins) and hex. */
function formsOf(word: string): readonly (readonly [string, Buffer])[] {
  const bytes = Buffer.from(word);
  const base64 = [0, 1, 2].flatMap((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString("base64");
    // Characters that also hold bits of what stands before or behind are left out.
    const whole = text.slice(shift === 0 ? 0 : shift + 1, -4);
    return [whole, whole.replaceAll("+", "-").replaceAll("/", "_")];
  });
  const forms: readonly (readonly [string, string])[] = [
    ["text", word],
    ["reversed", [...word].reverse().join("")],
    ["hex", bytes.toString("hex")],
    ["hex", bytes.toString("hex").toUpperCase()],
    ["UTF-16", bytes.toString("latin1").split("").join("\0")],
    ...base64.map((text) => ["base64", text] as const),
  ];
  return forms.map(([form, text]) => [form, Buffer.from(text, "latin1")]);
}

export function finder(canaries: readonly Canary[]) {
  const wanted = canaries.flatMap(({ name, words }) =>
    words.flatMap((word) => formsOf(word).map(([form, bytes]) => ({ name, form, bytes }))),
  );
  return (place: string, given: Buffer | string): string[] => {
    const bytes = typeof given === "string" ? Buffer.from(given) : given;
    return wanted
      .filter((each) => bytes.includes(each.bytes))
      .map(({ name, form }) => `${name} as ${form} in ${place}`);
  };
}

export type Find = ReturnType<typeof finder>;

export function search(find: Find, { out, err }: Ran, folders: readonly string[]): string[] {
  return [...find("stdout", out), ...find("stderr", err), ...searchFiles(find, folders)];
}

export function searchFiles(find: Find, folders: readonly string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .flatMap((path) => [...find(`${path}'s name`, path), ...find(path, readFileSync(path))]),
  );
}

/**
 * Looks through arguments, environment and open files' names of a process and all below it.
 * @param but the variable that may hold a secret: the operator put it there
 */
export function searchProcess(find: Find, pid: number, but: string): string[] {
  return family(pid).flatMap((id) => {
    const environment = read(`/proc/${id}/environ`)
      .split("\0")
      .filter((line) => !line.startsWith(`${but}=`));
    const files = readdirSync(`/proc/${id}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${id}/fd/${fd}`);
      } catch {
        return ""; // closed since
      }
    });
    return [
      ...find(`cmdline of ${id}`, read(`/proc/${id}/cmdline`)),
      ...find(`environ of ${id}`, environment.join("\0")),
      ...find(`open files of ${id}`, files.join("\0")),
    ];
  });
}

function family(pid: number): readonly number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(
      (name) =>
        [Number(name), Number(/\) \w (\d+)/.exec(read(`/proc/${name}/stat`))?.[1])] as const,
    );
  const below = (of: number): readonly number[] => [
    of,
    ...parents.filter(([, parent]) => parent === of).flatMap(([id]) => below(id)),
  ];
  return below(pid);
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // ended since
  }
}
