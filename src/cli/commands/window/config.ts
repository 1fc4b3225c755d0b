import { EXIT_STATUS } from "../../../lib/exit-status.ts";
import { visibleLines } from "../../../lib/table/text.ts";
import { counted } from "../../../lib/text.ts";
import { type ConfigOptions, config } from "../../../window/config/config.ts";
import { io } from "../../io.ts";
import { printView } from "../../print/out.ts";
import { EVERY } from "../../views/every-row.ts";
import { settingsJson, settingsText, settingsView } from "../../views/settings.ts";
import { exitWith, type ListArgs, print, printMessage } from "../shared.ts";

export async function configCommand(args: ListArgs & ConfigOptions): Promise<void> {
  const { desired, inspected } = await config(args);
  if (args.json) io().stdout.write(settingsJson(desired, inspected));
  else if (inspected === null) print(settingsText(desired));
  else if (args.check)
    await printView(settingsView(inspected.rows), { ...args, every: EVERY.same() });
  else io().stdout.write(inspected.patches.join(""));
  for (const note of desired.notes) printMessage(args, `Note: ${note}`);
  if (!args.check && (inspected?.patches.length ?? 0) > 1)
    printMessage(
      args,
      "Note: This output contains patches for several files. Run the command once for each file that is on a different host.",
    );
  // On stderr, because stdout is the patch, and printed even with --quiet.
  if (inspected?.hosts && !args.json)
    io().stderr.write(`${visibleLines(`Wrong: ${inspected.hosts}.`).join("\n")}\n`);
  const open = inspected?.rows.filter(({ state }) => state !== "right").length ?? 0;
  if (open > 0) printMessage(args, `${counted(open, "setting is", "settings are")} to change.`);
  else if (inspected?.hosts === null) printMessage(args, "All settings are correct.");
  if (open > 0 || inspected?.hosts) exitWith(EXIT_STATUS.differs.status);
}
