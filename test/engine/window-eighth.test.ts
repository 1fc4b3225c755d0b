import assert from "node:assert/strict";
import { test } from "node:test";
import type { Begun } from "../../src/engine/begun.ts";
import { type WindowSession, windowBack, windowForward } from "../../src/engine/window.ts";
import { ONE_BY_ONE, type Position, type WindowPart } from "../../src/engine/window-part.ts";
import { tempRun } from "../edge/disk/temp-run.ts";
import { during } from "./on-journal.ts";

/** A volume of a machine, and the host it is attached to or was. */
interface Volume {
  readonly id: string;
  readonly to: string;
}

/** A system nobody knew when the engine was written: volumes that move from host to host, and take a while. */
function volumes() {
  const at = new Map(["a", "b", "c"].map((id) => [`volume:${id}`, `host-${id}`]));
  const moving = new Map<string, string>();
  const part: WindowPart<Volume, Position> = {
    ...{ name: "volumes", size: 2 },
    async inspect(changes, watched) {
      return changes.map(({ id, to }) => {
        const target = moving.get(id);
        if (watched && target !== undefined) {
          moving.delete(id);
          at.set(id, target);
        }
        if (at.get(id) === "lost") return { is: "other" };
        if (moving.has(id)) return { is: "partway" };
        return { is: at.get(id) === to ? "after" : "before" };
      });
    },
    async perform({ id, to }, _, begin) {
      await begin({ host: at.get(id) ?? "" });
      moving.set(id, to);
      return { is: "partway" };
    },
  };
  return { at, moving, part };
}

async function* forth(at: ReadonlyMap<string, string>) {
  yield [...at.keys()].map((id) => ({ id, to: "ironic" }));
}

async function* home(ours: ReadonlyMap<string, Begun>) {
  yield [...ours].map(([id, { observed }]) => ({ id, to: String(observed[0]?.host) }));
}

test("a part of single machines that no file of src names is performed, killed, resumed and undone", async (t) => {
  for (const back of [false, true])
    for (let most = 0; most <= 6; most += 1) {
      const run = await tempRun(t);
      const { at, part } = volumes();
      const pace = { ...ONE_BY_ONE, inFlight: 2 };
      const go = (session: WindowSession) =>
        windowForward(
          { ...{ part, command: "move", pace }, changes: () => forth(at) },
          session,
          () => {},
        );
      const undo = (session: WindowSession) =>
        windowBack({ ...{ part, command: "move", pace }, changes: home }, session, () => {});
      await during(run, go, back ? undefined : most);
      await during(run, go);
      assert.deepEqual([...at.values()], ["ironic", "ironic", "ironic"]);
      at.set("volume:b", "lost");
      if (back) await during(run, undo, most);
      await during(run, undo);
      assert.deepEqual([...at.values()], ["host-a", "lost", "host-c"], `${back} ${most}`);
    }
});
