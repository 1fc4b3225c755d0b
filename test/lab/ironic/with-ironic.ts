import { readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { type LabFile, needs } from "../index.ts";
import type { Server } from "../server.ts";
import { alone } from "./alone.ts";
import type { IronicOptions } from "./config.ts";
import { type IronicAt, startIronic } from "./start.ts";

type Test = Pick<TestContext, "after">;

let running: Promise<IronicAt> | null = null;

/**
 * The Ironic on MariaDB that the runner started, or one of this process that ends with it. Tests share
 * it one after the other, and each finds it empty.
 */
export async function needsIronic(t: Test): Promise<IronicAt> {
  running ??= open();
  const at = await running;
  t.after(await alone(at, await needs("mysql")));
  return at;
}

export async function withIronic(t: Test, engine: Server["engine"], options: IronicOptions = {}) {
  const ironic = await startIronic(await needs(engine), options);
  t.after(ironic.stop);
  return ironic;
}

async function open(): Promise<IronicAt> {
  const path = process.env.N2I_LAB;
  if (path === undefined) return startIronic(await needs("mysql"));
  // The runner wrote it.
  const { ironic } = JSON.parse(readFileSync(path, "utf8")) as LabFile;
  if (ironic === null) throw new Error("this lane starts no Ironic");
  return ironic;
}
