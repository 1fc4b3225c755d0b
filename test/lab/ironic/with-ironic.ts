import { readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { type LabFile, lab } from "../index.ts";
import type { Server } from "../server.ts";
import { alone } from "./alone.ts";
import type { IronicOptions } from "./config.ts";
import { IRONIC, ironicPrograms } from "./programs.ts";
import { type IronicAt, type IronicServer, startIronic } from "./start.ts";

type Test = Pick<TestContext, "after" | "skip">;

let running: Promise<readonly IronicAt[]> | null = null;

/**
 * An Ironic on MariaDB that the runner started, or one of this process that ends with it; null after
 * the test was told to skip itself. Tests share them one after the other, and each finds its own empty.
 */
export async function needsIronic(t: Test): Promise<IronicAt | null> {
  running ??= open();
  const all = await running;
  const { mariadb } = await lab();
  if (all.length === 0 || mariadb === null) {
    t.skip(howToGet());
    return null;
  }
  const { at, end } = await alone(all, mariadb);
  t.after(end);
  return at;
}

/** An Ironic of this test alone, ended with it; null after the test was told to skip itself. */
export async function withIronic(
  t: Test,
  engine: Server["engine"],
  options: IronicOptions = {},
): Promise<IronicServer | null> {
  const { mariadb, postgres } = await lab();
  const server = engine === "mysql" ? mariadb : postgres;
  const ironic = server === null ? null : await startIronic(server, options);
  if (ironic === null) t.skip(howToGet());
  else t.after(ironic.stop);
  return ironic;
}

async function open(): Promise<readonly IronicAt[]> {
  if (process.env.N2I_FAST === "1") return [];
  const path = process.env.N2I_LAB;
  if (path !== undefined) {
    // The runner wrote it.
    return (JSON.parse(readFileSync(path, "utf8")) as LabFile).ironics;
  }
  const { mariadb } = await lab();
  const own = mariadb === null ? null : await startIronic(mariadb);
  return own === null ? [] : [own];
}

function howToGet(): string {
  if (process.env.N2I_FAST === "1")
    return `needs ${IRONIC.title}, and the fast part starts no servers: run npm test`;
  return ironicPrograms() === null
    ? `needs ${IRONIC.title}: on Debian 12, apt-get install ${IRONIC.packages.join(" ")}`
    : `${IRONIC.title} needs MariaDB and PostgreSQL: apt-get install mariadb-server-core mariadb-client-core postgresql`;
}
