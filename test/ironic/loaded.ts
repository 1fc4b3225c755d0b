import assert from "node:assert/strict";
import type { Scene } from "./scene.ts";

export async function loaded(at: Scene): Promise<void> {
  await at.runs(0, "extract");
  // Its status is that of machines that have no BMC to ask.
  await at.runs(3, "power", "-q");
  await at.runs(0, "plan", "-q");
  const blocked = at.plan().filter(({ verdict }) => verdict === "blocked");
  assert.equal(blocked.length, at.plan().length / 20);
  await at.runs(3, "apply", "--yes", "--skip-blocked");
}
