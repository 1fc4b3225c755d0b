import { openRun } from "../../../run/files/run-folder.ts";
import { closeWindow, openWindow, readWindow } from "../../../run/files/window-file.ts";
import type { StatusArgs } from "../../options/status.ts";
import { printView } from "../../print/out.ts";
import { windowView } from "../../views/records.ts";
import { print } from "../shared.ts";

export async function windowCommand(
  args: StatusArgs & { readonly action: "open" | "close" | "show" },
): Promise<void> {
  const run = await openRun(args.run, { create: false });
  switch (args.action) {
    case "open": {
      const { at, by } = await openWindow(run);
      return print(`The window is open since ${at} by ${by}.`);
    }
    case "close":
      return print((await closeWindow(run)) ? "The window is closed." : "No window is open.");
    case "show":
      return printView(windowView(await readWindow(run)), args);
  }
}
