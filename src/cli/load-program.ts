import { readFileSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { basename, dirname, join } from "node:path";
import { Script } from "node:vm";

/** A file of the bundle under way: what it exports, and what V8 has compiled of it until now. */
interface BundleFile<T> {
  readonly exported: T;
  readonly script: Script;
}

/** Packages that are bundled beside the program, each made ready when it is asked for. */
type Packages = { readonly [name: string]: () => unknown };

/** What V8 had compiled of a file when it was built, for one Node; any other takes it for nothing. */
export function compiledOf(file: string): string {
  return `${file}.${process.version}-${process.platform}-${process.arch}`;
}

/** Bytes of a SHA-256. */
const DIGEST = 32;

/** What V8 compiled of a file, as it is kept: behind the digest of both. */
export function sealed(source: Buffer, compiled: Buffer): Buffer {
  return Buffer.concat([digestOf(source, compiled), compiled]);
}

/** V8 runs what it is given: of a file it looks at the length, of what it compiled at some words in front. */
function digestOf(source: Buffer, compiled: Buffer): Buffer {
  // Not imported: `--version` is answered without.
  const { createHash } = process.getBuiltinModule("node:crypto");
  return createHash("sha256").update(source).update(compiled).digest();
}

const loaded = new Map<string, BundleFile<unknown>>();

/** Every file that was loaded, by its path. */
export function loadedFiles(): ReadonlyMap<string, BundleFile<unknown>> {
  return loaded;
}

/**
 * Loads a file of the bundle: one function of what a CommonJS module is given. With what was compiled of it a start
 * takes half of the processor; without, or where it is damaged or V8 refuses it, V8 compiles.
 *
 * @param file absolute path; of ASCII alone
 */
export function loadProgram<T>(file: string): T {
  const known = loaded.get(file);
  if (known !== undefined) return known.exported as T; // whoever wrote the file knows what is in it
  const source = readFileSync(file);
  const script = new Script(source.toString("latin1"), {
    // V8 keeps it in what it compiled, wherever that is unpacked. @see placed
    filename: `bundle/${basename(file)}`,
    cachedData: compiledFor(file, source),
  });
  const module = { exports: {} };
  const define: unknown = script.runInThisContext();
  if (typeof define !== "function") throw new Error(`${file} is no bundle of this program`);
  define(module.exports, requireOf(file), module, file, dirname(file));
  loaded.set(file, { exported: module.exports, script });
  return module.exports as T;
}

function requireOf(file: string): (name: string) => unknown {
  const installed = createRequire(file);
  const packages = join(dirname(file), "packages.js");
  return (name) => {
    if (isBuiltin(name) || file === packages) return installed(name);
    const bundled = loadProgram<Packages>(packages)[name];
    return bundled === undefined ? installed(name) : bundled();
  };
}

function compiledFor(file: string, source: Buffer): Buffer | undefined {
  let kept: Buffer;
  try {
    kept = readFileSync(compiledOf(file));
  } catch {
    // Built with another Node, or not compiled yet.
    return undefined;
  }
  const compiled = kept.subarray(DIGEST);
  return digestOf(source, compiled).equals(kept.subarray(0, DIGEST)) ? compiled : undefined;
}
