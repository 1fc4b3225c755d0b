import { test } from "node:test";
import { ends, refused, run, runs } from "../../hostile/cli.ts";
import { plannedCloud } from "./planned.ts";

test("plan, apply and their options say no when they do not fit each other", async (t) => {
  const { at, reader, writer, novaWriter, source, plan } = await plannedCloud("sqlite", t);
  const nova = source.slice(2, 4);
  const planning = ["plan", ...at, ...reader, ...plan, "-q"];
  for (const [words, text] of [
    [["--compute-host", "x"], /--compute-host needs --nova-db/],
    [[...nova, "--deploy-kernel", "x"], /wanted together/],
    [[...nova, "--flavor-images", "delete", "--deploy-kernel", "x"], /takes no images/],
    [[...nova, "--compute-host", "nobody:x=y"], /not understood/],
    [[...nova, "--compute-host", ""], /not understood/],
  ] as const)
    await refused([...planning, ...words], 64, "N2I-E100", [text]);
  await refused([...planning, "--nova-db", source[1] ?? ""], 4, "N2I-E202", [/nova database/]);
  const applying = ["apply", ...at, ...writer, "--yes", "-q"];
  const without = [...applying, "--without", "nova-db"];
  await refused(without, 4, "N2I-E311", [], { bare: true });
  await refused([...applying, ...novaWriter, "--leave-nova"], 64, "N2I-E100");
  await ends(3, run([...applying, "--leave-nova"]));
  await runs(0, [...planning]);
  await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
  await refused([...applying, ...novaWriter], 4, "N2I-E114");
});
