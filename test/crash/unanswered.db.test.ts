import { test } from "node:test";
import { writing } from "../../src/systems/database/write.ts";
import { assertRefusal, ends, run } from "../hostile/cli.ts";
import { plannedCloud } from "../migrate/nova/planned.ts";
import { openedAt } from "../support/opened.ts";

/** Each refusal takes the three seconds that a transaction is given to end. */
const HELD = [
  ["mysql", "nova"],
  ["postgresql", "nova"],
  ["postgresql", "ironic"],
] as const;

for (const [engine, name] of HELD)
  test(`on ${engine}, verify does not pass ${name} while a transaction of another run is open there`, async (t) => {
    const made = await plannedCloud(engine, t, ["--flavor-images", "delete"]);
    const { act, at, reader, source } = made;
    const verify = () => run(["verify", ...at, ...reader, ...source.slice(2, 4), "-q"]);
    await ends(0, act(["apply"]));
    const other = await openedAt(made[name].url, t);
    await writing(other, async () =>
      assertRefusal(await verify(), 11, "N2I-E318", /has not ended yet \(session \d+/),
    );
    await ends(0, verify());
  });
