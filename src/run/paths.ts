import { resolve } from "node:path";
import { processContext } from "./process-context.ts";

const FILES: readonly string[] = [
  "run",
  "site",
  "key-file",
  "os-cacert",
  "conductor-log",
  "compute-log",
  "ironic-conf",
  "conductor-tftp-root",
];
/** `[HOST=]PATH`. */
const OF_HOSTS: readonly string[] = ["nova-conf", "tftp-root", "tftp-from"];

/** Absolute, because a reader may have another working directory. @param from base folder */
export function absolute(option: string, word: string, from = processContext().cwd()): string {
  if (FILES.includes(option)) return resolve(from, word);
  if (OF_HOSTS.includes(option)) {
    const path = word.slice(word.indexOf("=") + 1);
    return `${word.slice(0, word.length - path.length)}${resolve(from, path)}`;
  }
  if (/^sqlite:\/\/\/[^/]/.test(word))
    return `sqlite:///${resolve(from, word.slice("sqlite:///".length))}`;
  const [, form, paths] = /^(file|conf):(.+)$/s.exec(option.endsWith("-db") ? word : "") ?? [];
  if (form === undefined || paths === undefined) return word;
  const each = form === "conf" ? paths.split(",") : [paths];
  return `${form}:${each.map((path) => resolve(from, path)).join(",")}`;
}
