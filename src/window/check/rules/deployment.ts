import { counted } from "../../../lib/text.ts";
import type { CheckResult, CheckView, PlanFacts } from "../../../model/check.ts";
import { otherServer, type Ungranted } from "../../../model/database.ts";
import { POWER_MAX_AGE, POWER_SKEW } from "../../../model/power.ts";
import {
  check,
  EXCLUDED,
  FINE,
  failure,
  fine,
  isRefused,
  joined,
  OPTIONS,
  readable,
  resultOf,
  unseen,
  warning,
} from "./part.ts";

const PRIVILEGE = "N2I-E206";
/** Milliseconds of clock skew. Heartbeats are compared in tens of seconds. */
const SKEW = { warning: 2000, failure: 30_000 };
const MIB = 1024 * 1024;
/** Bytes for the run folder, an upper bound of artifacts and journal per machine. */
const ROOM = { base: 64 * MIB, machine: 64 * 1024 };

/** Databases that could not be read, for a lack of privileges or for other reasons. */
function refusals(view: CheckView, forPrivilege: boolean): CheckResult {
  const lines = [view.bm, view.nova, view.ironic, view.api, view.placement].flatMap((side) => {
    if (side === null || !isRefused<object>(side)) return [];
    const { code, message, fix } = side.refused;
    return (code === PRIVILEGE) === forPrivilege ? [`${code} ${message}`, `Fix: ${fix}`] : [];
  });
  return lines.length === 0 ? FINE : { result: "Failure", details: lines.join("\n") };
}

/** Checks that databases match their options and have known versions. */
const schemas = check("Databases and schema heads", [], (view) =>
  joined([
    refusals(view, false),
    view.nova !== null
      ? FINE
      : warning("Nova was not read, so its instances are unknown.", "specify --nova-db"),
    changedDatabases(view),
    // Passwords of nova_bm and Ironic could be read there.
    resultOf(
      view.servers.filter(({ clear }) => clear).map(({ option, label }) => `${option} ${label}`),
      "database connections are not encrypted, but they transfer BMC passwords",
      "enable TLS in the server, or run this tool on the database's host",
      "Warning",
    ),
  ]),
);

/** Databases that differ from the plan's: another run's, or another address. */
function changedDatabases({ servers, plan }: CheckView): CheckResult {
  const found = servers.flatMap(({ option, identity }) => {
    const planned = plan?.madeFor.get(option);
    // The same comparison as in apply.
    const [field] = planned === undefined ? [] : otherServer(planned, identity);
    return field === undefined
      ? []
      : [`${option}, ${field} was ${planned?.[field]}, is ${identity[field]}`];
  });
  return resultOf(
    found,
    "databases are not those of the plan, so apply would refuse it",
    "specify the databases of the plan, or run extract, then plan. Also check --run",
    "Warning",
  );
}

/** @source facts/systems.md D R3, R4 */
const pairing = check("Pairing of releases", [], (view) => {
  const { pairing: pair, plan } = view;
  if (pair === null) {
    const open = (["bm", "nova", "ironic"] as const).filter((side) =>
      isRefused<object>(view[side] ?? {}),
    );
    return unseen(open.map((side) => OPTIONS[side]).join(" and "));
  }
  if (pair.allowed === "rule") return fine(pair.why);
  return pair.requested || plan?.paired === true
    ? { result: "Warning", details: `${pair.why}.` }
    : failure(
        `${pair.why}: the releases differ.`,
        "upgrade the source to Juno first, or run plan and check with --allow-pairing",
      );
});

/** Reasons for which apply would refuse the plan, in the same words. */
const applies = check("Plan can be applied", ["plan"], ({ plan, run }) => {
  if (plan === null) return FINE;
  const { loads, existing, blocked, conflicts, skipsBlocked, fresh, readings } = plan.applies;
  const [skipped, result] = skipsBlocked
    ? [EXCLUDED, "Warning" as const]
    : ["", "Failure" as const];
  const show = `nova2ironic show ${run.path}/plan`;
  return joined([
    fresh ? FINE : failure("The plan was made from a different snapshot.", "nova2ironic plan"),
    loads > 0
      ? FINE
      : failure(
          "The plan does not load any machine, so apply refuses it.",
          `${show} shows the reasons. Resolve them, then plan`,
        ),
    resultOf(
      blocked,
      `machines are blocked${skipped}`,
      `${show}. Fix the data or accept the finding in the site document, then plan. Alternatively, exclude them with --skip-blocked`,
      result,
    ),
    resultOf(
      conflicts,
      `machines conflict with rows in Ironic${skipped}`,
      `${show}. Remove the conflicting rows, then plan. Alternatively, exclude the machines with --skip-blocked`,
      result,
    ),
    readings === null ? FINE : aged(readings),
    fine(`${counted(loads, "machine loads", "machines load")}, ${existing} already in Ironic.`),
  ]);
});

/** Readings that will be too old by the time of apply. */
function aged(readings: NonNullable<PlanFacts["applies"]["readings"]>): CheckResult {
  const { same, minutes } = readings;
  if (!same)
    return failure("The plan has different power readings.", "run plan after the last power");
  if (minutes < -POWER_SKEW)
    return failure(
      `The oldest power reading is dated ${(-minutes).toFixed(0)} min ahead of this host's clock.`,
      "correct the clock, then run power and plan",
    );
  const age = `The oldest power reading is ${minutes.toFixed(0)} min old`;
  if (minutes <= POWER_MAX_AGE) return fine(`${age}.`);
  return warning(
    `${age}, and apply does not accept readings older than ${POWER_MAX_AGE}.`,
    "run power, then plan, right before apply, or run apply with --power-max-age MINUTES",
  );
}

const BY_PLAN = ", and that the plan for Nova or its rollback requires";

/** @source facts/systems.md D R18 */
const privileges = check("Privileges", ["plan"], (view) => {
  const gaps = (
    [
      ["ironic", "Ironic's", ""],
      ["nova", "nova's", BY_PLAN],
      ["api", "nova_api's", BY_PLAN],
    ] as const
  ).flatMap(([key, owner, more]) => {
    const option = OPTIONS[key];
    const side = readable<{ readonly forbidden: Ungranted }>(view[key]);
    if (side === null) return [];
    const { statements, grants, missing } = side.forbidden;
    return [
      resultOf(
        statements,
        `statements that ${owner} database denies this user${more}`,
        `run check as the user that apply uses, or run: ${grants.join("; ")}`,
      ),
      resultOf(
        missing,
        `tables are missing in the database of ${option}, which a grant does not fix`,
        `compare ${option} and its schema (nova-manage or ironic-dbsync names its version)`,
      ),
    ];
  });
  const nova = view.plan?.nova;
  const open = [
    ...(nova?.statements.size && !readable(view.nova) ? ["--nova-db"] : []),
    ...(nova?.api.size && !readable(view.api) ? ["--nova-api-db"] : []),
  ];
  return joined([
    refusals(view, true),
    isRefused(view.ironic) ? unseen("--ironic-db") : FINE,
    ...gaps,
    open.length === 0
      ? FINE
      : warning("The plan's Nova rows were not checked.", `specify ${open.join(" and ")}`),
  ]);
});

const clocks = check("Clock skew", [], ({ servers }) => {
  const off = servers.filter(({ skew }) => Math.abs(skew ?? 0) > SKEW.warning);
  const isFailure = off.some(({ skew }) => Math.abs(skew ?? 0) > SKEW.failure);
  return resultOf(
    off.map(({ option, skew }) => `${option} by ${((skew ?? 0) / 1000).toFixed(1)} s`),
    "clocks that differ from this machine's",
    "run chronyc makestep on the machine with the wrong clock",
    isFailure ? "Failure" : "Warning",
  );
});

/** Values of a cluster node that accepts writes. */
const HEALTHY: readonly (readonly [string, string])[] = [
  ["wsrep_cluster_status", "Primary"],
  ["wsrep_local_state_comment", "Synced"],
  ["wsrep_ready", "ON"],
];

const galera = check("Galera state", [], ({ servers }) => {
  const clustered = servers.filter(({ wsrep }) => Object.keys(wsrep).length > 0);
  if (clustered.length === 0) return fine("No server is in a Galera cluster.");
  const faults = clustered.flatMap(({ option, wsrep }) =>
    HEALTHY.filter(([name, value]) => wsrep[name] !== value).map(
      ([name]) => `${option} ${name} ${wsrep[name] ?? "unknown"}`,
    ),
  );
  return resultOf(
    faults,
    "signs of an incomplete cluster",
    "mysql -e \"SHOW STATUS LIKE 'wsrep_%'\", and wait until the node is Synced in the Primary component",
  );
});

const space = check("Disk space of the run", [], ({ bm, run }) => {
  const machines = readable(bm)?.nodes.length ?? 0;
  const required = ROOM.base + machines * ROOM.machine;
  const message = `${Math.floor(run.free / MIB)} MiB free in ${run.path}, ${Math.ceil(required / MIB)} MiB are required`;
  return run.free >= required
    ? fine(`${message}.`)
    : failure(
        `${message}: the load stops if the journal cannot be written.`,
        `free space: df -h ${run.path}`,
      );
});

export const DEPLOYMENT = [schemas, pairing, applies, privileges, clocks, galera, space];
