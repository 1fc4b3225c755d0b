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
export function absolute(option: string, value: string, from = processContext().cwd()): string {
  if (FILES.includes(option)) return resolve(from, value);
  if (OF_HOSTS.includes(option)) {
    const path = value.slice(value.indexOf("=") + 1);
    return `${value.slice(0, value.length - path.length)}${resolve(from, path)}`;
  }
  if (/^sqlite:\/\/\/[^/]/.test(value))
    return `sqlite:///${resolve(from, value.slice("sqlite:///".length))}`;
  const [, form, paths] = /^(file|conf):(.+)$/s.exec(option.endsWith("-db") ? value : "") ?? [];
  if (form === undefined || paths === undefined) return value;
  const each = form === "conf" ? paths.split(",") : [paths];
  return `${form}:${each.map((path) => resolve(from, path)).join(",")}`;
}
