import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { freePort } from "../../lab/daemon.ts";
import { authority } from "../../support/certificates.ts";
import { HERE, put, putPair, refuses, withoutCertificate } from "./demanding.ts";

// Node's own server closes the connection instead of sending an alert.
for (const version of ["-tls1_3", "-tls1_2"])
  test(`a server of OpenSSL that does not know our certificate's authority is reported as that, ${version}`, async (t) => {
    const [ca, stranger] = [authority(t), authority(t)];
    const port = await freePort();
    const { cert, key } = ca.signs(HERE, 1);
    const own = ["-cert", put(ca, "server.pem", cert), "-key", put(ca, "server.key", key)];
    const demands = ["-CAfile", ca.file, "-Verify", "1", "-verify_return_error"];
    const words = ["s_server", "-accept", `127.0.0.1:${port}`, "-www", ...own, ...demands, version];
    const server = spawn("openssl", words, { stdio: ["ignore", "pipe", "ignore"] });
    t.after(() => server.kill());
    await once(server.stdout, "data");
    const files = putPair(stranger, stranger.signs("DNS:mover", 1));
    const tls = { ...withoutCertificate(ca), ...files };
    await refuses(`https://127.0.0.1:${port}/`, tls, /requires a client certificate/);
  });
