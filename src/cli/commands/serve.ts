import type { Served } from "../../serving/listener.ts";
import { io } from "../io.ts";
import { createEvents } from "../print/events.ts";
import { type ArgsOf, note, type Voice } from "./shared.ts";

export const commands = {
  async "serve proxy"(args: ArgsOf<typeof import("../../proxy/serve-proxy.ts").serveProxy>) {
    await (await import("../../proxy/serve-proxy.ts")).serveProxy(args, outputOf(args));
  },

  async "serve switchover"(
    args: ArgsOf<typeof import("../../switchover/serve-switchover.ts").serveSwitchover>,
  ) {
    const { serveSwitchover } = await import("../../switchover/serve-switchover.ts");
    await serveSwitchover(args, outputOf(args));
  },

  async "serve manageable"(
    args: ArgsOf<typeof import("../../manage/serve-manageable.ts").serveManageable>,
  ) {
    const { serveManageable } = await import("../../manage/serve-manageable.ts");
    const emit = createEvents(io().stderr);
    await serveManageable(args, {
      ...outputOf(args),
      notify(event) {
        if (args.json) emit("item", { ...event });
      },
    });
  },
};

function outputOf(voice: Voice) {
  // A request may arrive on a connection outside this command's context.
  const { stderr } = io();
  const emit = createEvents(stderr);
  return {
    report: (text: string) => note(voice, text),
    served(request: Served) {
      if (voice.json) return emit("item", { ...request });
      if (voice.quiet) return;
      const { method, path, status, milliseconds, calls, id, globalId, broken } = request;
      const ids = globalId === undefined ? id : `${id} ${globalId}`;
      const more = broken === undefined ? "" : ` broken off: ${broken}`;
      stderr.write(`${method} ${path} ${status} ${milliseconds} ms ${calls} calls ${ids}${more}\n`);
    },
  };
}
