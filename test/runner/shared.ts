import { AsyncResource } from "node:async_hooks";
import { after, before, describe } from "node:test";
// A test that fails while timers are mocked may leave the global one mocked.
import { setTimeout } from "node:timers";
import { Worker } from "node:worker_threads";
import type { StartedChange } from "./guard.ts";
import { untrack } from "./untracked.ts";

/** How long what a file left open may take to close, in milliseconds. */
const CLOSING_MS = 2000;

/** Seconds more than its guard after which a file has blocked its process. */
const BLOCKED = 10;

/** Runs test files one after the other in this process, each a suite of its name that ends after `guard` seconds. */
export function shared(files: readonly string[], guard: number): void {
  let last = Promise.resolve();
  const { promise: loaded, resolve } = allLoaded();
  const watch = new Worker(new URL("guard.js", import.meta.url));
  watch.unref();
  const begin = (file: string): void => {
    const begun: StartedChange = { file, seconds: guard + BLOCKED };
    watch.postMessage(begun);
  };
  begin("loading the files");
  for (const file of files)
    describe(file, { timeout: guard * 1000 }, () => {
      before(() => begin(file));
      // A test that hung keeps sockets open, which would keep this process from its end.
      if (file === files.at(-1))
        after(() => void setTimeout(() => process.exit(), CLOSING_MS).unref());
      // node:test knows by the asynchronous context which suite a file's tests belong to.
      const load = AsyncResource.bind(async (): Promise<void> => {
        await import(`../${file}`);
      });
      const loading = last.then(load);
      // A file that cannot be loaded is its own failure, not that of the next.
      last = loading.catch(() => undefined);
      if (file === files.at(-1)) void last.then(untrack).then(resolve);
      return loading.then(() => loaded);
    });
}

function allLoaded(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
