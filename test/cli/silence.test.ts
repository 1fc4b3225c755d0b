import { createServer } from "node:net";
import { test } from "node:test";
import { runs, start } from "../hostile/cli.ts";
import { deployFiles } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";

test("while a service does not answer its login, it is said what is waited for", async (t) => {
  const made = await deployFiles(t, SMALL);
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  const mute = createServer();
  await new Promise<void>((done) => mute.listen(0, "127.0.0.1", done));
  t.after(() => mute.close());
  const at = mute.address();
  const port = at !== null && typeof at === "object" ? at.port : 0;
  const rest = ["--ironic-url", `http://127.0.0.1:${port}`, "--api-timeout", "9"];
  const env = { OS_AUTH_TYPE: "none" };
  const waiting = start(["plan", ...made.at, ...rest], { env });
  await waiting.said("Still logging in and asking Ironic what it is: 2 s so far.");
  waiting.signal("SIGKILL");
  await waiting.ended;
});
