import { request } from "node:http";
import type { Answer } from "./scripts.ts";

// What a plugin's script asks of the rehearsal that started it: `start nova-compute`, or, as the
// program's stand-in on the PATH, `run extract --run RUN`.
const asked = request({ socketPath: process.env.STANDIN_SOCKET ?? "", method: "POST" });
asked.end(JSON.stringify(process.argv.slice(2)));
asked.on("response", (response) => {
  let text = "";
  response.setEncoding("utf8").on("data", (more: string) => {
    text += more;
  });
  response.on("end", () => {
    // The rehearsal wrote it.
    const { status, out, err } = JSON.parse(text) as Answer;
    process.stderr.write(err);
    process.stdout.write(out);
    process.exitCode = status;
  });
});
