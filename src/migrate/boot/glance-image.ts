import { createHash } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { MigrationError } from "../../lib/error.ts";
import { orNotWritten } from "../../lib/files/failure.ts";
import type { GlanceImage, ImageService } from "../../systems/openstack/glance-images.ts";
import { portions } from "../../systems/tftp/safe-fs.ts";

/**
 * Downloads and verifies an image. @returns its SHA-256
 * @throws MigrationError N2I-E120, N2I-E210, N2I-E211, or N2I-E212 for wrong bytes
 */
export async function download(
  service: Pick<ImageService, "bytes">,
  { id, size, digest }: GlanceImage,
  path: string,
): Promise<string> {
  const writing = <T>(work: Promise<T>): Promise<T> => work.catch(orNotWritten(path));
  const file = await writing(open(path, "w", 0o600));
  let [sha256, its, at] = [createHash("sha256"), hashOf(digest), 0];
  try {
    await service.bytes(
      id,
      async () => {
        [sha256, its, at] = [createHash("sha256"), hashOf(digest), 0];
        await writing(file.truncate(0));
      },
      async (portion) => {
        sha256.update(portion);
        its?.update(portion);
        for (let done = 0; done < portion.length; ) {
          const { bytesWritten } = await writing(file.write(portion, done, undefined, at + done));
          done += bytesWritten;
        }
        at += portion.length;
      },
    );
  } catch (cause) {
    await rm(path, { force: true });
    throw cause;
  } finally {
    await file.close();
  }
  const value = its?.digest("hex");
  if (at === size && (digest === null || value === digest.value)) return sha256.digest("hex");
  await rm(path, { force: true });
  const differs =
    at === size
      ? `its ${digest?.algorithm} is ${value}, expected ${digest?.value}`
      : `${at} bytes received, expected ${size} bytes`;
  throw new MigrationError("N2I-E212", `image ${id} differs from its record in Glance: ${differs}`);
}

function hashOf(digest: GlanceImage["digest"]) {
  return digest === null ? null : createHash(digest.algorithm);
}

/** Compares a file with an image. @returns the difference. Null if there is none */
export async function differsFrom(
  file: string,
  { id, digest }: GlanceImage,
): Promise<string | null> {
  const hash = hashOf(digest);
  if (hash === null) return null;
  for await (const portion of portions(file)) hash.update(portion);
  const value = hash.digest("hex");
  return value === digest?.value
    ? null
    : `its ${digest?.algorithm} is ${value}, and that of Glance's image ${id} ${digest?.value}`;
}
