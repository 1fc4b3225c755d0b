import type { TestContext } from "node:test";
import { needs } from "../index.ts";
import type { Service } from "./config.ts";
import { CLOUD } from "./programs.ts";
import { type Cloud, startCloud } from "./start.ts";

/** A cloud of this test alone, ended with it; null after the test was told to skip itself. */
export async function withCloud(
  t: Pick<TestContext, "after" | "skip">,
  services?: readonly Service[],
): Promise<Cloud | null> {
  const server = await needs("mysql", t);
  if (server === null) return null;
  const cloud = await startCloud(server, services === undefined ? {} : { services });
  if (cloud === null)
    t.skip(`needs ${CLOUD.title}: on Debian 12, apt-get install ${CLOUD.packages.join(" ")}`);
  else t.after(cloud.stop);
  return cloud;
}
