import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit-status.ts";
import {
  restartsText,
  settingsJson,
  settingsText,
  settingsView,
  strandedText,
} from "../../report/settings.ts";
import { visibleLines } from "../../report/text.ts";
import { config } from "../../stages/config.ts";
import { io } from "../io.ts";
import type { ConfigArgs } from "../options/config.ts";
import { printView } from "../print/out.ts";
import { EVERY } from "./every-row.ts";
import { exitWith, print, say } from "./shared.ts";

export async function configCommand(args: ConfigArgs): Promise<void> {
  checkOptions(args);
  const { wanted, inspected, stranded, restarts } = await config(args);
  if (args.json)
    io().stdout.write(settingsJson(wanted, inspected, stranded?.flavors ?? null, restarts));
  else if (inspected === null) print(settingsText(wanted));
  else if (args.check)
    await printView(settingsView(inspected.rows, restarts ?? []), { ...args, every: EVERY.same() });
  else io().stdout.write(inspected.patches.join(""));
  for (const note of wanted.notes) say(args, `Note: ${note}`);
  if (inspected?.hosts) warn(args, `Wrong: ${inspected.hosts}.`);
  if (args.exactFilters) for (const text of strandedText(stranded)) warn(args, text);
  const open = inspected?.rows.filter(({ state }) => state !== "right").length ?? 0;
  if (open > 0) say(args, `${open} settings are to change.`);
  else if (inspected?.hosts === null) say(args, "All settings are as needed.");
  for (const text of restartsText(restarts ?? [])) say(args, text);
  const old = restarts?.some(({ state }) => state === "not restarted") === true;
  if (open > 0 || old || inspected?.hosts || (stranded?.flavors.length ?? 0) > 0)
    exitWith(EXIT_STATUS.differs.status);
}

/** @throws MigrationError N2I-E100 */
function checkOptions(args: ConfigArgs): void {
  const { check, novaConf, novaDb, novaApiDb, run, exactFilters, restarted, serviceLog } = args;
  if (check && novaConf === undefined)
    throw new MigrationError("N2I-E100", "--check needs --nova-conf");
  if (restarted && !check) throw new MigrationError("N2I-E100", "--restarted needs --check");
  if (serviceLog !== undefined && !restarted)
    throw new MigrationError("N2I-E100", "--service-log needs --restarted");
  if (restarted && novaDb === undefined && serviceLog === undefined)
    throw new MigrationError("N2I-E100", "nothing shows whether a service was restarted", {
      fix: "Give --service-log [HOST=]FILE, the log of that service, and --nova-db.",
    });
  for (const [option, spec] of [
    ["--nova-db", novaDb],
    ["--nova-api-db", novaApiDb],
  ] as const)
    if (
      spec !== undefined &&
      (run === undefined || !exactFilters) &&
      !(restarted && option === "--nova-db")
    )
      throw new MigrationError("N2I-E100", `${option} needs --run and --exact-filters`);
}

/** On stderr: stdout is the patch, for a program. It is no progress, so --quiet does not silence it. */
function warn({ json }: ConfigArgs, text: string): void {
  if (!json) io().stderr.write(`${visibleLines(text).join("\n")}\n`);
}
