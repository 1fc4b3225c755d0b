import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

export interface Pair {
  readonly key: Buffer;
  readonly cert: Buffer;
}

/** An authority of this test alone. */
export interface Authority {
  /** Path of its certificate. */
  readonly file: string;
  /**
   * A server's certificate and key.
   *
   * @param names as subjectAltName has them: `IP:127.0.0.1`
   * @param days it is valid for; less than none: it has expired
   */
  readonly signs: (names: string, days: number) => Pair;
}

/** Makes an authority with the openssl command, in a folder that goes with the test. */
export function authority(t: Pick<TestContext, "after">): Authority {
  const folder = mkdtempSync(join(tmpdir(), "n2i-tls-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const at = (name: string): string => join(folder, name);
  const openssl = (...words: readonly string[]): void =>
    void execFileSync("openssl", words, { stdio: "pipe" });
  const fresh = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const own = ["-keyout", at("ca.key"), "-out", at("ca.pem")];
  openssl("req", "-x509", ...fresh, ...own, "-subj", "/CN=lab authority", "-days", "2");
  return {
    file: at("ca.pem"),
    signs(names, days) {
      const asked = ["-keyout", at("key"), "-out", at("request")];
      const subject = ["-subj", "/CN=lab", "-addext", `subjectAltName=${names}`];
      openssl("req", "-new", ...fresh, ...asked, ...subject);
      const by = ["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-copy_extensions", "copy"];
      const what = ["-req", "-in", at("request"), "-out", at("cert")];
      openssl("x509", ...what, ...by, "-days", String(days));
      return { key: readFileSync(at("key")), cert: readFileSync(at("cert")) };
    },
  };
}
