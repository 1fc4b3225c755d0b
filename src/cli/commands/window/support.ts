import { counted } from "../../../lib/text.ts";
import { support } from "../../../window/support.ts";
import { print, printMessage, sinkOf, type Voice } from "../shared.ts";

export async function supportCommand(args: Voice & Parameters<typeof support>[0]): Promise<void> {
  const { path, bytes, files, skipped } = await support(args, sinkOf({ ...args, format: "table" }));
  for (const { name, reason } of skipped) printMessage(args, `Left out: ${name}: ${reason}.`);
  print(`Wrote ${path}: ${counted(files.length, "file")}, ${Math.ceil(bytes / 1024)} KiB.`);
  printMessage(
    args,
    "Its passwords are encrypted, and the key is not included. It contains the names of machines, hosts, addresses and instances, so check it before you send it.",
  );
}
