import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { isIPv4 } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

export interface Pair {
  readonly key: Buffer;
  readonly cert: Buffer;
}

/**
 * Makes an authority for a test. Node reads certificates but cannot write them, and openssl is not on every machine,
 * so this writes the few DER structures itself.
 * @source RFC 5280 4.1
 */
export function authority(t: Pick<TestContext, "after">) {
  const folder = mkdtempSync(join(tmpdir(), "n2i-tls-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "ca.pem");
  // A subject of its own, so that a client does not take two authorities for one.
  const name = `lab authority ${randomBytes(4).toString("hex")}`;
  const own = newKeys();
  const certify = (subject: string, keys: Keys, days: number, extension: Buffer): Buffer => {
    const body = certificateBody(name, subject, keys.publicKey, days, extension);
    const signature = sign("sha256", body, own.privateKey);
    return pem(der(SEQUENCE, body, ECDSA_WITH_SHA256, bits(signature)));
  };
  writeFileSync(file, certify(name, own, 2, IS_AUTHORITY));
  return {
    file,
    /**
     * A certificate and its private key.
     * @param names `IP:127.0.0.1` or `DNS:name`
     * @param days how long it is valid; a negative number: it has expired
     */
    signs(names: string, days: number): Pair {
      const keys = newKeys();
      const key = Buffer.from(keys.privateKey.export({ type: "pkcs8", format: "pem" }));
      return { key, cert: certify("lab", keys, days, alternativeName(names)) };
    },
  };
}

export type Authority = ReturnType<typeof authority>;

interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

function newKeys(): Keys {
  return generateKeyPairSync("ec", { namedCurve: "prime256v1" });
}

function certificateBody(
  issuer: string,
  subject: string,
  key: KeyObject,
  days: number,
  extension: Buffer,
): Buffer {
  const [now, day] = [Date.now(), 24 * 60 * 60 * 1000];
  const end = now + days * day;
  const validity = der(SEQUENCE, time(Math.min(now, end) - day), time(end));
  const serial = der(INTEGER, Buffer.of(1), randomBytes(8));
  const spki = key.export({ type: "spki", format: "der" });
  const version3 = der(0xa0, der(INTEGER, Buffer.of(2)));
  const names = [commonName(issuer), validity, commonName(subject)];
  const extensions = der(0xa3, der(SEQUENCE, extension));
  return der(SEQUENCE, version3, serial, ECDSA_WITH_SHA256, ...names, spki, extensions);
}

const [INTEGER, OCTETS, OBJECT, SEQUENCE] = [0x02, 0x04, 0x06, 0x30];

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  const size = length < 128 ? [length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

function bits(content: Buffer): Buffer {
  return der(0x03, Buffer.of(0), content);
}

function time(milliseconds: number): Buffer {
  const digits = new Date(milliseconds).toISOString().replaceAll(/[-T:]/g, "");
  return der(0x17, Buffer.from(`${digits.slice(2, 14)}Z`));
}

const ECDSA_WITH_SHA256 = der(SEQUENCE, der(OBJECT, Buffer.from("2a8648ce3d040302", "hex")));

function commonName(name: string): Buffer {
  const attribute = der(OBJECT, Buffer.from("550403", "hex"));
  return der(SEQUENCE, der(0x31, der(SEQUENCE, attribute, der(0x0c, Buffer.from(name)))));
}

/** basicConstraints, critical: CA is true. */
const IS_AUTHORITY = der(
  SEQUENCE,
  der(OBJECT, Buffer.from("551d13", "hex")),
  Buffer.from("0101ff", "hex"),
  der(OCTETS, der(SEQUENCE, Buffer.from("0101ff", "hex"))),
);

function alternativeName(name: string): Buffer {
  const value = name.slice(name.indexOf(":") + 1);
  const general = isIPv4(value)
    ? der(0x87, Buffer.from(value.split(".").map(Number)))
    : der(0x82, Buffer.from(value));
  return der(
    SEQUENCE,
    der(OBJECT, Buffer.from("551d11", "hex")),
    der(OCTETS, der(SEQUENCE, general)),
  );
}

function pem(bytes: Buffer): Buffer {
  const lines = bytes.toString("base64").replaceAll(/(.{64})(?=.)/g, "$1\n");
  return Buffer.from(`-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`);
}
