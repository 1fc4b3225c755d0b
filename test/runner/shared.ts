import { AsyncResource } from "node:async_hooks";
import { after, describe } from "node:test";
import { took } from "./stopwatch.ts";

/** Runs test files one after the other in this process, each a suite of its name. */
export function shared(files: readonly string[]): void {
  let last = Promise.resolve();
  for (const file of files)
    describe(file, () => {
      after(() => took(file));
      // node:test knows by the asynchronous context whose the tests are that a file registers.
      const load = AsyncResource.bind(async (): Promise<void> => {
        await import(`../${file}`);
      });
      const loaded = last.then(load);
      // A file that cannot be loaded is its own failure, not that of the next.
      last = loaded.catch(() => undefined);
      return loaded;
    });
}
