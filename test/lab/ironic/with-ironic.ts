import { readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { type LabFile, lab } from "../index.ts";
import type { Server } from "../server.ts";
import { alone } from "./alone.ts";
import type { IronicOptions } from "./config.ts";
import { IRONIC, ironicPrograms } from "./programs.ts";
import { type IronicAt, type IronicServer, startIronic } from "./start.ts";

type Test = Pick<TestContext, "after" | "skip">;

let running: Promise<IronicAt | null> | null = null;

/**
 * The Ironic on MariaDB the runner started, or one of this process that ends with it; null after
 * the test was told to skip itself. Tests share it one after the other, and each finds it empty.
 */
export async function needsIronic(t: Test): Promise<IronicAt | null> {
  running ??= open();
  const at = await running;
  const { mariadb } = await lab();
  if (at === null || mariadb === null) {
    t.skip(howToGet());
    return null;
  }
  t.after(await alone(at, mariadb));
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

async function open(): Promise<IronicAt | null> {
  if (process.env.N2I_FAST === "1") return null;
  const path = process.env.N2I_LAB;
  if (path !== undefined) {
    // The runner wrote it.
    return (JSON.parse(readFileSync(path, "utf8")) as LabFile).ironic;
  }
  const { mariadb } = await lab();
  return mariadb === null ? null : startIronic(mariadb);
}

function howToGet(): string {
  if (process.env.N2I_FAST === "1")
    return `needs ${IRONIC.title}, and the fast part starts no servers: run npm test`;
  return ironicPrograms() === null
    ? `needs ${IRONIC.title}: on Debian 12, apt-get install ${IRONIC.packages.join(" ")}`
    : `${IRONIC.title} needs MariaDB and PostgreSQL: apt-get install mariadb-server-core mariadb-client-core postgresql`;
}
