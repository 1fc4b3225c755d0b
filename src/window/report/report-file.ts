import { createReadStream, readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { MigrationError, systemCode } from "../../lib/error.ts";
import { notRead, notWritten } from "../../lib/files/failure.ts";
import { createTemp } from "../../lib/files/temp-file.ts";
import { packageRoot } from "../../run/files/package-root.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { processContext } from "../../run/process-context.ts";
import { inRun } from "../../run/run.ts";

/** The start of a report. A file that starts differently is not overwritten. */
const REPORT_START =
  /^(<!doctype html>\n<!-- nova2ironic report|# Migration from nova-baremetal to Ironic)/;

/**
 * Writes a complete report, readable only by this user, or keeps the existing file.
 * @returns its absolute path
 * @throws MigrationError N2I-E100 if another file has that name, N2I-E120, N2I-E302
 */
export async function writeReport(
  run: string,
  output: string | undefined,
  text: Pieces,
): Promise<string> {
  const write = async (path: string): Promise<string> => {
    await (await tempOf(path, text)).commit();
    return path;
  };
  // Other commands remove partial files in a run, so none may be running.
  if (output === undefined)
    return inRun(run, "report", { kind: "migration" }, ({ path }) => write(pathOf(path, output)));
  const path = pathOf(run, output);
  await checkName(path);
  return write(path);
}

function pathOf(run: string, output: string | undefined): string {
  return output === undefined
    ? resolve(run, "report.html")
    : resolve(processContext().cwd(), output);
}

/** Keeps the packed machines in a temporary file until the text before them is complete. */
export function openParts(output: string | undefined) {
  let temp: Awaited<ReturnType<typeof createTemp>> | null = null;
  return {
    /** @throws MigrationError N2I-E120 */
    async keep({ path: run }: RunFolder, pieces: Pieces): Promise<void> {
      temp = await tempOf(pathOf(run, output), pieces);
    },
    /** The kept text, in order. */
    async *pieces(): AsyncGenerator<string> {
      yield* temp?.handle.createReadStream({ start: 0, encoding: "latin1", autoClose: false }) ??
        [];
    },
    close: async (): Promise<void> => temp?.drop(),
  };
}

type Pieces = AsyncIterable<string> | Iterable<string>;

/** A temporary file next to the path, with this text. */
async function tempOf(path: string, text: Pieces) {
  const temp = await createTemp(dirname(path), basename(path));
  try {
    for await (const piece of text) await temp.handle.writeFile(piece);
  } catch (cause) {
    await temp.drop();
    throw notWritten(path, cause);
  }
  return temp;
}

async function checkName(path: string): Promise<void> {
  let head = "";
  try {
    // Reading a pipe would wait for its writer.
    if ((await stat(path)).isFile())
      for await (const piece of createReadStream(path, { encoding: "utf8", end: 99 }))
        head += piece;
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") return;
    throw notRead(path, cause);
  }
  if (!REPORT_START.test(head))
    throw new MigrationError("N2I-E100", `${path} already exists and is not a report`, {
      fix: "Specify a different file with --output, or remove the existing file.",
    });
}

/** Script and style sheet of the report's page, from the build. */
export function pageAssets() {
  const read = (name: string): string =>
    readFileSync(join(packageRoot(), "dist", "page", name), "utf8").trim();
  return { script: read("main.js"), style: read("page.css") };
}
