import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { CLAIMS } from "../expect/index.ts";
import { back } from "./back.ts";
import { judge, type Phase, type Verdict } from "./claim.ts";
import { type Deployment, deploy } from "./deployment.ts";
import { forward } from "./forward.ts";
import { operate } from "./operate.ts";
import type { By } from "./seen.ts";

const USAGE = `grenade/run [--by rows|rename|rest] [--phase forward|back] [--machines N] [--hold]

  --by        rows into Ironic's database, with another host and a staged hand-over, or by its API
  --phase     forward: over, and then what tenants do; back: over and back, three times
  --machines  machines of the deployment (60)
  --hold      at the end, or when it fails: keep everything up until Ctrl-C
`;

/** What a phase does with a deployment. */
const PHASES: {
  readonly [phase: string]: ((deployment: Deployment) => Promise<void>) | undefined;
} = {
  forward: async (deployment) => {
    await forward(deployment);
    await operate(deployment, "forward");
  },
  back,
};

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      by: { type: "string", default: "rows" },
      phase: { type: "string", default: "forward" },
      machines: { type: "string", default: "60" },
      hold: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const acts = PHASES[values.phase];
  if (values.help || acts === undefined || !isBy(values.by)) {
    process.stderr.write(USAGE);
    return values.help ? 0 : 64;
  }
  const folder = join(process.cwd(), "runs", "grenade", `${values.by}-${values.phase}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const began = Date.now();
  const tell = (line: string): void => {
    const seconds = String(Math.round((Date.now() - began) / 1000)).padStart(4);
    process.stderr.write(`${seconds} s  ${line}\n`);
  };
  // The table above has it.
  const phase = values.phase as Phase;
  const verdicts = await rehearse({ folder, by: values.by, phase, acts, tell, values });
  return report(folder, verdicts, (Date.now() - began) / 1000);
}

function isBy(text: string): text is By {
  return text === "rows" || text === "rename" || text === "rest";
}

async function rehearse({
  folder,
  by,
  phase,
  acts,
  tell,
  values,
}: {
  readonly folder: string;
  readonly by: By;
  readonly phase: Phase;
  readonly acts: (deployment: Deployment) => Promise<void>;
  readonly tell: (line: string) => void;
  readonly values: { readonly machines: string; readonly hold: boolean };
}): Promise<readonly Verdict[]> {
  const deployment = await deploy(folder, by, Number(values.machines), tell);
  let broke: string | null = null;
  try {
    await acts(deployment);
  } catch (cause) {
    broke = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    tell(broke);
  }
  const seen = deployment.seen();
  writeFileSync(join(folder, "seen.json"), JSON.stringify(seen, null, 1));
  const claims = CLAIMS.filter(({ phases }) => phases.includes(phase));
  const verdicts = claims.map((claim) => judge(claim, seen));
  if (values.hold) await hold(folder, tell);
  await deployment.stop();
  const came: Verdict = {
    name: "the rehearsal came to its end",
    result: broke === null ? "holds" : "fails",
    why: broke === null ? [] : [broke],
  };
  return [came, ...verdicts];
}

/** Until somebody has looked. */
async function hold(folder: string, tell: (line: string) => void): Promise<void> {
  const file = join(folder, "held");
  writeFileSync(file, "");
  tell(`held: remove ${file} to end`);
  while (existsSync(file)) await sleep(500);
}

/** TAP on stdout, and both forms in the folder. */
function report(folder: string, verdicts: readonly Verdict[], seconds: number): number {
  const lines = verdicts.flatMap(({ name, result, why }, at) => [
    `${result === "holds" ? "ok" : "not ok"} ${at + 1} - ${name}`,
    ...(result === "holds" ? [] : [`  ---`, `  result: ${result}`]),
    ...why.slice(0, 20).map((line) => `  - ${JSON.stringify(line)}`),
    ...(result === "holds" ? [] : ["  ..."]),
  ]);
  const tap = [
    "TAP version 13",
    `1..${verdicts.length}`,
    ...lines,
    `# ${Math.round(seconds)} s`,
    "",
  ];
  writeFileSync(join(folder, "result.tap"), tap.join("\n"));
  writeFileSync(join(folder, "result.json"), JSON.stringify({ seconds, verdicts }, null, 2));
  process.stdout.write(tap.join("\n"));
  return verdicts.every(({ result }) => result === "holds") ? 0 : 1;
}

process.exitCode = await main();
// Daemons' pipes may still be open.
process.exit();
