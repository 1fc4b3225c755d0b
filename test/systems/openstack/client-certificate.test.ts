import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { test } from "node:test";
import { openHttp } from "../../../src/systems/openstack/http.ts";
import { authority } from "../../support/certificates.ts";
import { listening } from "../../support/listening.ts";
import { HERE, put, putPair, refuses, status, withoutCertificate } from "./demanding.ts";

for (const [version, words] of [
  ["TLSv1.3", /requires a client certificate/],
  ["TLSv1.2", /aborts the TLS handshake/],
] as const)
  test(`a server that demands a certificate gets ours, and the error names it if there is none, ${version}`, async (t) => {
    const ca = authority(t);
    const demands = { ca: readFileSync(ca.file), requestCert: true, rejectUnauthorized: true };
    const versions = { minVersion: version, maxVersion: version } as const;
    const server = createServer({ ...ca.signs(HERE, 1), ...demands, ...versions }, (_, answer) =>
      answer.end(),
    );
    const url = await listening(t, server);
    const none = withoutCertificate(ca);
    const pair = ca.signs("DNS:mover", 1);
    const ours = putPair(ca, pair);
    assert.equal(await status(url, { ...none, ...ours }), 200);
    const one = put(ca, "both.pem", Buffer.concat([pair.cert, pair.key]));
    assert.equal(await status(url, { ...none, cert: one }), 200);
    await refuses(url, none, words);
    const request = put(ca, "request", Buffer.from("not a key"));
    assert.throws(() => openHttp({ ...none, cert: ours.cert, key: request }, 5000), {
      code: "N2I-E106",
    });
  });
