import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { readFile, readlink, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { MigrationError, systemCode } from "../error.ts";
import { isObject, parsedJson } from "../json.ts";
import { shellArgument } from "../text.ts";
import { atExit } from "./at-exit.ts";
import { notWritten, orNotWritten } from "./failure.ts";

type Holder = Awaited<ReturnType<typeof myself>>;

const TEXTS = ["host", "command", "since", "realm", "began", "token"];

/**
 * Acquires the lock at `path`, and returns its release.
 * It replaces the lock of a process that died on this machine. A second lock, named by the token of
 * the dead holder, ensures that only one process replaces it.
 * @throws MigrationError N2I-E302 with the holder, N2I-E120
 */
export async function takeLock(path: string, command: string): Promise<() => Promise<void>> {
  const me = await myself(command);
  // Registered before the lock is acquired, because a signal may follow immediately.
  const cancelCleanup = atExit(() => {
    if (readFileSync(path, "utf8").includes(me.token)) rmSync(path, { force: true });
  });
  try {
    for (;;) {
      if (created(path, me)) break;
      const holder = await readHolder(path);
      if (holder === null) continue; // released in between
      if (!(await dead(holder, me))) throw lockedError(path, holder);
      if (await replaced(path, holder, me)) break;
    }
  } catch (cause) {
    cancelCleanup();
    throw notWritten(path, cause);
  }
  return async () => {
    await rm(path, { force: true }).catch(orNotWritten(path));
    cancelCleanup();
  };
}

async function replaced(path: string, holder: Holder, me: Holder): Promise<boolean> {
  const release = await takeLock(`${path}.${holder.token}`, me.command);
  try {
    if ((await readHolder(path))?.token !== holder.token) return false;
    renameSync(written(path, me), path);
    return true;
  } finally {
    await release();
  }
}

/**
 * Creates the file with its content in one step, so that no reader sees a partial file.
 * Synchronous, because a signal between two turns of the event loop would leave the temporary file.
 */
function created(path: string, me: Holder): boolean {
  const tempPath = written(path, me);
  try {
    linkSync(tempPath, path);
    return true;
  } catch (cause) {
    // ENOENT: another process removed our temporary file as a leftover.
    if (systemCode(cause) === "EEXIST" || systemCode(cause) === "ENOENT") return false;
    throw cause;
  } finally {
    rmSync(tempPath, { force: true });
  }
}

function written(path: string, me: Holder): string {
  const tempPath = `${path}.${me.pid}-${me.token}.n2i-tmp`;
  try {
    writeFileSync(tempPath, `${JSON.stringify(me)}\n`, { flag: "wx", mode: 0o600 });
  } catch (cause) {
    // A full disk can create the name without the content.
    rmSync(tempPath, { force: true });
    throw cause;
  }
  return tempPath;
}

async function readHolder(path: string): Promise<Holder | null> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    if (systemCode(cause) === "ENOENT") return null;
    throw cause;
  });
  if (text === null) return null;
  const found = parsedJson(text);
  const fields = isObject(found) ? found : {};
  if (typeof fields.pid !== "number" || TEXTS.some((name) => typeof fields[name] !== "string")) {
    throw new MigrationError("N2I-E302", `${path} is not a lock of nova2ironic`, {
      fix: `Find out which program created it, then run: rm ${shellArgument(path)}`,
    });
  }
  const holder = found as unknown as Holder; // every field was checked
  return { ...holder, token: holder.token.replace(/[^0-9a-f]/g, "") };
}

async function myself(command: string) {
  const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "");
  const space = await readlink("/proc/self/ns/pid").catch(() => "");
  return {
    pid: process.pid,
    host: hostname(),
    command,
    /** ISO 8601, UTC. */
    since: new Date().toISOString(),
    /** Boot id and pid namespace. A pid is comparable only within the same two. */
    realm: `${boot.trim()} ${space}`,
    /** Start time of the process, in kernel ticks. Unlike a pid, it is not reused. */
    began: await beginOf(process.pid),
    token: randomBytes(8).toString("hex"),
  };
}

/** Only if certain. A holder on another host may be alive. */
async function dead(holder: Holder, me: Holder): Promise<boolean> {
  if (holder.host !== me.host) return false;
  const [boot, space] = holder.realm.split(" ");
  const [myBoot, mySpace] = me.realm.split(" ");
  if (boot !== myBoot) return true;
  return space === mySpace && (await beginOf(holder.pid)) !== holder.began;
}

/** Field 22 of /proc/PID/stat, empty for a dead process or a zombie (state Z). @source proc(5) */
async function beginOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  // The name in parentheses may contain blanks and parentheses.
  if (stat !== null) {
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? "" : (fields[19] ?? "");
  }
  try {
    process.kill(pid, 0);
    return "alive";
  } catch (cause) {
    return systemCode(cause) === "EPERM" ? "alive" : "";
  }
}

function lockedError(path: string, holder: Holder): MigrationError {
  const { pid, host, command, since } = holder;
  const fix =
    host === hostname()
      ? `Wait until process ${pid} ends. Its lock is then released.`
      : `Wait until it ends. If ${host} is permanently down, run: rm ${shellArgument(path)}`;
  const who = `${command} (process ${pid} on ${host}) since ${since}`;
  return new MigrationError("N2I-E302", `${path} is locked by ${who}`, { fix });
}
