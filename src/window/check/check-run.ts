import { ownedLines } from "../../engine/back.ts";
import { orNull } from "../../lib/error.ts";
import { textOrNull } from "../../lib/json.ts";
import { createSeveral } from "../../lib/text.ts";
import { ironicJournalled } from "../../migrate/apply/parts.ts";
import { type NovaFiles, novaPlanOf } from "../../migrate/hosts/nova-files.ts";
import { choiceOf } from "../../migrate/hosts/rules/choice.ts";
import { loadable } from "../../migrate/plan/empty-plan.ts";
import { openPower, POWER } from "../../migrate/power/power-file.ts";
import type { ServerIdentity } from "../../model/artefact.ts";
import type { LineFacts, PlanFacts } from "../../model/check.ts";
import type { Verb } from "../../model/database.ts";
import { IRONIC, plansOf } from "../../model/journal.ts";
import type { Row } from "../../model/machine.ts";
import type { NovaStep } from "../../model/nova/nova-plan.ts";
import { isLoaded, nodeOf, type PlannedMachine } from "../../model/plan.ts";
import { createTextSet, type TextSet } from "../../model/rows.ts";
import { readJournal } from "../../run/files/journal.ts";
import { findPlan } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { openPlan, openSnapshot, planOrNull, SNAPSHOT } from "../../run/run.ts";
import { NOVA_API_TABLES, NOVA_TABLES } from "../../systems/nova-db/plan-open.ts";
import { REQUEST_TABLES } from "../../systems/nova-db/requests.ts";
import { takeOversOf } from "../handover/hand-over.ts";
import { lower } from "./rules/part.ts";

/** The plan's facts about machines and Nova. Null without a plan. */
export async function planFacts(run: RunFolder, skipsBlocked: boolean): Promise<PlanFacts | null> {
  const plan = await planOrNull(run.path);
  if (plan === null) return null;
  const nova = await novaPlanOf(run, plan.footer);
  const chosen = nova?.header.compute_hosts ?? [];
  const choice = choiceOf(chosen);
  const machines: LineFacts[] = [];
  const rejected = { blocked: createSeveral(), conflict: createSeveral() };
  const skipped = new Set<number>();
  const [images, made] = [new Set<string>(), new Set<string>()];
  const findingsOf = createShared();
  let [traits, takeOvers] = [false, 0];
  for await (const batch of plan.lines())
    for (const line of batch) {
      const { verdict, bm_node_id: id, reason } = line;
      const row = nodeOf(line.records);
      if (verdict === "skipped") skipped.add(id);
      else
        machines.push({
          id,
          uuid: lower(line.uuid),
          instance_uuid: textOrNull(row?.instance_uuid),
          host: choice.of(line) ?? line.service_host,
          blocked: !isLoaded(line),
          findings: findingsOf(line),
        });
      if (verdict === "blocked" || verdict === "conflict")
        rejected[verdict].add(`bm_nodes.id=${id} (${reason ?? "without a reason"})`);
      for (const id of matchingIn(row?.driver_info, /deploy_(kernel|ramdisk)$/)) images.add(id);
      takeOvers += takeOversOf(line);
      if (!isLoaded(line)) continue;
      if (Array.isArray(row?.traits) && row.traits.length > 0) traits = true;
      for (const id of matchingIn(row?.instance_info, /^(image_source|kernel|ramdisk)$/))
        made.add(id);
    }
  const changes = nova === null ? null : await novaFacts(nova, [...choice.targets.keys()]);
  for (const id of changes?.images ?? []) images.add(id);
  const { header, footer } = plan;
  const { target, made_from } = header;
  const { api } = nova?.header ?? {};
  const taken = await orNull(openSnapshot(`${run.path}/${SNAPSHOT}`), "N2I-E110");
  const madeFor = new Map<string, ServerIdentity>();
  if (taken !== null) madeFor.set("--nova-bm-db", taken.header.source.nova_bm);
  if (nova !== null) madeFor.set("--nova-db", nova.header.target);
  // A plan for REST has no Ironic database.
  if (target.engine !== "rest") madeFor.set("--ironic-db", { ...target, engine: target.engine });
  if (api !== undefined) madeFor.set("--nova-api-db", api);
  const { ports, verdicts } = footer.footer;
  const read = made_from.power && (await orNull(openPower(`${run.path}/${POWER}`)));
  return {
    ...{ machines, skipped, takeOvers, ports, images, made, traits, nova: changes, madeFor },
    allowOtherNodes: header.allow_other_nodes === true,
    paired: header.pairing.allowed === "override",
    release: target.release,
    applies: {
      loads: loadable(footer.footer),
      existing: verdicts.unchanged + verdicts.drift,
      ...{ blocked: rejected.blocked, conflicts: rejected.conflict, skipsBlocked },
      fresh: taken?.footer.sha256 === made_from.snapshot,
      readings: made_from.power && {
        same: read?.footer.sha256 === made_from.power.sha256,
        minutes: minutesSince(made_from.power.oldest),
      },
    },
  };
}

/** One map for all machines with the same findings. */
function createShared(): (line: PlannedMachine) => ReadonlyMap<string, boolean> {
  const shared = new Map<string, ReadonlyMap<string, boolean>>();
  return ({ findings }) => {
    const entries = findings.map(({ code, accepted }) => [code, accepted !== undefined] as const);
    const map = shared.get(String(entries)) ?? new Map(entries);
    shared.set(String(entries), map);
    return map;
  };
}

function minutesSince(at: string | null): number {
  return at === null ? 0 : (Date.now() - Date.parse(at)) / 60_000;
}

async function novaFacts(nova: NovaFiles, hosts: readonly string[]) {
  const [flavors, images] = [new Set<string>(), new Set<string>()];
  const [statements, api] = [new Map<string, Set<Verb>>(), new Map<string, Set<Verb>>()];
  const moves = new Map<string, Set<string>>();
  const movedTo = new Map<string, { readonly host: string | null; readonly node: string | null }>();
  const joins: { host: string; id: number }[] = [];
  for await (const batch of nova.all())
    for (const line of batch) {
      const { id, part, table, key, before, after } = line;
      for (const verb of verbsOf(line)) add(part === "api" ? api : statements, table, verb);
      if (part !== "hosts") {
        flavors.add(id);
        // A deleted spec keeps its old value.
        const isDeleted = after === null || (after.deleted ?? 0) !== 0;
        if (!isDeleted && /deploy_(kernel|ramdisk)_id$/.test(String(after.key ?? key.key)))
          images.add(String(after.value));
      }
      if (table === "aggregate_hosts" && after !== null)
        joins.push({ host: String(after.host), id: Number(after.aggregate_id) });
      if (table !== "instances" || after === null) continue;
      const [from, host] = [textOrNull(before?.host), textOrNull(after.host)];
      movedTo.set(lower(textOrNull(after.uuid)), { host, node: textOrNull(after.node) });
      if (from !== null && host !== null && from !== host)
        moves.set(from, (moves.get(from) ?? new Set()).add(host));
    }
  // Tables that apply and rollback always read.
  if (statements.size + api.size > 0)
    for (const table of [...NOVA_TABLES, ...REQUEST_TABLES]) add(statements, table, "SELECT");
  if (api.size > 0) for (const table of NOVA_API_TABLES) add(api, table, "SELECT");
  const { stopped } = nova.counts;
  return { flavors, images, moves, hosts, joins, stopped, statements, api, movedTo };
}

/** Of a step and its rollback, which read and lock the row, and write it. */
function verbsOf({ before, after }: NovaStep): readonly Verb[] {
  return before === null || after === null
    ? ["SELECT", "LOCK", "INSERT", "DELETE"]
    : ["SELECT", "LOCK", "UPDATE"];
}

function add(privileges: Map<string, Set<Verb>>, table: string, verb: Verb): void {
  const verbs = privileges.get(table) ?? new Set();
  privileges.set(table, verbs.add(verb));
}

function matchingIn(column: Row[string] | undefined, names: RegExp): readonly string[] {
  if (typeof column !== "object" || column === null) return [];
  return Object.entries(column).flatMap(([key, value]) =>
    names.test(key) && typeof value === "string" && value !== "" ? [value] : [],
  );
}

/**
 * UUIDs of nodes that this run created and did not roll back, according to its journal. A missing
 * plan has none.
 */
export async function createdByRun(run: RunFolder): Promise<TextSet> {
  const { entries } = await readJournal(run);
  const created = createTextSet();
  for (const sha256 of plansOf(entries, IRONIC)) {
    const path = await orNull(findPlan(run, sha256), "N2I-E110");
    if (path === null) continue;
    const { header, lines } = await openPlan(path);
    const leg = ironicJournalled(header.target, { sha256, lines });
    for await (const batch of ownedLines(leg, entries, { selects: isLoaded }))
      for (const { line, changes } of batch)
        if (changes.some(({ resource }) => resource === "node")) created.add(line.uuid ?? "");
  }
  return created;
}
