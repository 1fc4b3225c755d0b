import type { TestContext } from "node:test";
import { needs } from "../index.ts";
import type { Service } from "./config.ts";
import { startCloud } from "./start.ts";

export async function withCloud(t: Pick<TestContext, "after">, services?: readonly Service[]) {
  const server = await needs("mysql");
  const cloud = await startCloud(server, services === undefined ? {} : { services });
  t.after(cloud.stop);
  return cloud;
}
