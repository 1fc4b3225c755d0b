import { createArtefact } from "../../../src/run/files/artefact-writer.ts";

/** Writes a plan into the run named, and does not come to an end. */
const run = { path: process.argv[2] ?? "" };
const writer = await createArtefact(run, "machines.jsonl", { format: "nova2ironic/machines@1" });
for (let bm_node_id = 0; ; bm_node_id++) {
  await writer.write({ bm_node_id, why: "x".repeat(1000) });
  if (bm_node_id === 5000) process.stdout.write("writing\n");
  if (bm_node_id > 5000) await new Promise((go) => setTimeout(go, 1));
}
