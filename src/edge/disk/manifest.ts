import { createHash } from "node:crypto";
import type { JsonObject } from "../../model/json.ts";
import { isOf, openFile, refusal } from "./artefact-check.ts";
import { LONGEST_LINE, parseObject } from "./artefact-form.ts";
import { contentOf, notRead } from "./failure.ts";

const FORMAT = "nova2ironic/plan@2";
const ENDING = /,\n {2}"sha256": "([0-9a-f]{64})"\n\}\n$/;

/** A manifest as text, which ends with the digest of all that stands before it. */
export function manifestText(about: object): { readonly text: string; readonly sha256: string } {
  const body = JSON.stringify({ format: FORMAT, ...about }, null, 2).slice(0, -"\n}".length);
  const sha256 = digestOf(body);
  return { text: `${body},\n  "sha256": "${sha256}"\n}\n`, sha256 };
}

/** Bytes of the largest manifest; more says that something is wrong with the data. */
export const LARGEST_MANIFEST = LONGEST_LINE;

/**
 * What a manifest says, once it was compared with its digest.
 *
 * @throws MigrationError N2I-E110 missing, N2I-E111 truncated, N2I-E112 edited, N2I-E113 other
 */
export async function readManifest(
  path: string,
): Promise<{ readonly manifest: JsonObject; readonly sha256: string }> {
  const text = await textOf(path);
  if (!isOf(FORMAT, text, path) && !`{\n  "format": "${FORMAT}"`.startsWith(text))
    throw refusal("N2I-E113", path, "is not the manifest of a plan");
  const manifest = parseObject(text);
  if (manifest === null) throw refusal("N2I-E111", path, "ends before its digest");
  const ending = ENDING.exec(text);
  const sha256 = ending?.[1] ?? "";
  if (ending === null || digestOf(text.slice(0, ending.index)) !== sha256)
    throw refusal("N2I-E112", path, "does not match the digest at its end");
  return { manifest, sha256 };
}

async function textOf(path: string): Promise<string> {
  const file = await openFile(path, "plan");
  try {
    const content = await contentOf(file, path, "the manifest of a plan", LARGEST_MANIFEST);
    return content.toString("utf8");
  } catch (cause) {
    throw notRead(path, cause);
  } finally {
    await file.close();
  }
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
