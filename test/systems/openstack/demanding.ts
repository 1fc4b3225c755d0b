import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Tls } from "../../../src/systems/openstack/cloud.ts";
import { openHttp } from "../../../src/systems/openstack/http.ts";
import type { Authority, Pair } from "../../support/certificates.ts";

export const HERE = "IP:127.0.0.1";

export function put(ca: Authority, name: string, text: Buffer): string {
  const path = join(dirname(ca.file), name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

export function putPair(ca: Authority, { cert, key }: Pair) {
  return { cert: put(ca, "client.pem", cert), key: put(ca, "client.key", key) };
}

export function withoutCertificate(ca: Authority): Tls {
  return { cacert: ca.file, cert: null, key: null, insecure: false };
}

export async function status(url: string, tls: Tls): Promise<number> {
  const http = openHttp(tls, 60_000);
  try {
    return (await http.send({ method: "GET", url, headers: {} })).status;
  } finally {
    http.close();
  }
}

export async function refuses(url: string, tls: Tls, words: RegExp): Promise<void> {
  // A connection that the server resets before its alert is read is a call without an answer, 0, which is put again.
  const answered = async (): Promise<void> => {
    while ((await status(url, tls)) === 0);
  };
  await assert.rejects(answered(), { code: "N2I-E213", message: words, fix: /OS_CERT/ });
}
