import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import type { TokenOwner } from "../../../src/model/served.ts";
import { REQUESTED } from "../../../src/proxy/rules/decide.ts";
import { allows, readPolicy } from "../../../src/serving/rules/policy.ts";
import { cloudPrograms } from "../../lab/cloud/programs.ts";
import { callers, policies } from "../../support/policies.ts";

const SEED = 2014;
const GENERATED = Number(process.env.N2I_RUNS ?? 50);

/** Nova's code and oslo.policy say who may: list and show for each caller, policy by policy. */
const ORACLE = `
import itertools, json, os, sys, warnings
warnings.simplefilter("ignore")
from oslo_config import cfg
from oslo_policy import generator
from nova import context, policies, policy
from nova.policies import base, baremetal_nodes
asked, folder = json.load(sys.stdin), sys.argv[1]
cfg.CONF([], project="nova", default_config_files=[], default_config_dirs=[])
# Debian has a folder of its own.
cfg.CONF.set_override("policy_dirs", [], "oslo_policy")
texts = [json.dumps(one) for one in asked["policies"]]
path = os.path.join(folder, "sample")
generator._generate_sample(["nova"], path, "json", False)
texts.append(open(path).read())
generator._generate_sample(["nova"], path, "yaml", True)
texts.append(open(path).read())
# With every comment that is a rule made one.
texts.append("\\n".join(line[1:] if line.startswith('#"') else line for line in texts[-1].split("\\n")))
# A thousand others are registered anew for each policy otherwise.
policies.list_rules = lambda: itertools.chain(base.list_rules(), baremetal_nodes.list_rules())
said = []
for text in texts:
    path = os.path.join(folder, "policy")
    with open(path, "w") as file: file.write(text)
    policy.reset()
    policy.init(policy_file=path, suppress_deprecation_warnings=True)
    # Each question would look at the file again.
    own_init, policy.init = policy.init, lambda: None
    policy._ENFORCER.load_rules = lambda: None
    said.append([])
    for who in asked["callers"]:
        own = context.RequestContext(**who)
        for rule in ("list", "show"):
            name = "os_compute_api:os-baremetal-nodes:" + rule
            said[-1].append(bool(own.can(name, target={}, fatal=False)))
    policy.init = own_init
json.dump({"texts": texts, "said": said}, sys.stdout)
`;

test("who may list and show is whom Nova's own code and oslo.policy let", () => {
  const programs = cloudPrograms();
  const many = { seed: SEED, numRuns: GENERATED };
  const asked = {
    policies: fc.sample(policies, many),
    callers: fc.sample(callers, { seed: SEED, numRuns: 6 }),
  };
  const { texts, said } = oracle(programs.python, asked);
  assert.equal(texts.length, GENERATED + 3);
  for (const [at, text] of texts.entries()) {
    const policy = readPolicy(text, `policy ${at}`, Object.values(REQUESTED));
    const ours = asked.callers.flatMap((who) => [
      allows(policy, REQUESTED.list, who),
      allows(policy, REQUESTED.show, who),
    ]);
    assert.deepEqual(ours, said[at], `${text}\n${JSON.stringify(asked.callers)}`);
  }
  const share = said.flat().filter(Boolean).length / said.flat().length;
  assert.ok(share > 0.2 && share < 0.8, `${share} are let in: both answers are compared`);
});

interface Answer {
  readonly texts: readonly string[];
  readonly said: readonly (readonly boolean[])[];
}

function oracle(
  python: string,
  asked: { readonly policies: readonly object[]; readonly callers: readonly TokenOwner[] },
): Answer {
  const folder = mkdtempSync(join(tmpdir(), "n2i-policy-"));
  try {
    const { status, stdout, stderr } = spawnSync(python, ["-c", ORACLE, folder], {
      input: JSON.stringify(asked),
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
    });
    assert.equal(status, 0, stderr.slice(-4000));
    // Its own form.
    return JSON.parse(stdout) as Answer;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
