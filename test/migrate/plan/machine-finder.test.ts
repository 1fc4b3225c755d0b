import assert from "node:assert/strict";
import { test } from "node:test";
import { machineFinder } from "../../../src/migrate/plan/machine-finder.ts";
import { fleet, fleetUuid } from "../../support/fleet.ts";
import { withCase } from "../../support/planned-case.ts";

/** More than two groups of lines that a reader gives. */
const MACHINES = 70;

test("a machine is found in whatever order a list has, and one that is not there is null", () =>
  withCase(fleet(MACHINES), async ({ run }) => {
    const ids = Array.from({ length: MACHINES }, (_, at) => at + 1);
    const orders = {
      forward: ids,
      backward: ids.toReversed(),
      // As machines of a window end.
      mixed: ids.toSorted((one, other) => ((one * 11) % 67) - ((other * 11) % 67)),
    };
    for (const [order, asked] of Object.entries(orders)) {
      const { find, close } = machineFinder(run.path);
      for (const id of asked) assert.equal((await find(id))?.uuid, fleetUuid(id), order);
      assert.equal(await find(MACHINES + 1), null, order);
      assert.equal((await find(1))?.uuid, fleetUuid(1), order);
      await close();
    }
  }));
