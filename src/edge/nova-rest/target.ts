import type { SpecCall } from "../../model/database.ts";
import { MigrationError } from "../../model/error.ts";
import {
  type NovaStep,
  type NovaTarget,
  type RowState,
  refuseStrange,
} from "../../model/nova-plan.ts";
import { mayPass, pause, TRIES } from "../openstack/passing.ts";
import { type Answer, refusedCall } from "../openstack/session.ts";
import { type ComputeService, type Specs, specsPath } from "./service.ts";

/** Called before and after every call that changes something; a test kills the process there. */
type Failpoint = (point: "nova.call.before" | "nova.call.after") => Promise<void>;

/**
 * Flavors changed through Nova's API. It knows no compare-and-swap and no transaction: each extra
 * spec is read right before it is written, and what somebody changes in between is lost. A call
 * whose end is not known is looked at, never repeated blindly.
 */
export function createRestFlavors(
  service: ComputeService,
  failpoint: Failpoint = () => Promise.resolve(),
): Pick<NovaTarget, "inspect" | "perform"> {
  const inspect = async (steps: readonly NovaStep[]): Promise<readonly RowState[]> => {
    const known = new Map<string, Specs>();
    const states: RowState[] = [];
    for (const step of steps) {
      const { flavorid } = named(step);
      const specs = known.has(flavorid) ? known.get(flavorid) : await service.specs(flavorid);
      known.set(flavorid, specs ?? null);
      states.push(rowStateOf(step, specs ?? null));
    }
    return states;
  };
  return {
    inspect,
    async perform(steps, { owned, precondition, observed }) {
      await precondition();
      const states = await inspect(steps);
      const of = (is: RowState["is"]) => states.filter((state) => state.is === is);
      const found = of("after").map(({ id }) => id);
      const left = of("other").map(({ id, why }) => ({ id, why }));
      refuseStrange(left, owned, "extra specs");
      const todo = new Set(of("before").map(({ id }) => id));
      await observed({ done: [...todo], found });
      const done: string[] = [];
      for (const step of steps.filter(({ id }) => todo.has(id))) {
        const why = await change(service, step, failpoint);
        if (why === null) done.push(step.id);
        else left.push({ id: step.id, why });
      }
      return { done, found, left };
    },
  };
}

/** What a step over REST names. */
function named({ key }: NovaStep): { readonly flavorid: string; readonly key: string } {
  return { flavorid: String(key.flavorid), key: String(key.key) };
}

function rowStateOf(step: NovaStep, specs: Specs): RowState {
  const { id, before, after } = step;
  const as = (is: RowState["is"], why = ""): RowState => ({ id, is, why });
  if (specs === null) return as("other", "the flavor is gone");
  const value = specs.get(named(step).key);
  if (value === (after?.value ?? undefined)) return as("after");
  if (value === (before?.value ?? undefined)) return as("before");
  return as("other", value === undefined ? "is gone" : "was changed since in value");
}

/**
 * Changes one extra spec, looking right before each try.
 *
 * @returns why it was left, or null when it is as after the step
 * @throws MigrationError N2I-E210 when it does not answer, N2I-E211, N2I-E212 when it refuses
 */
async function change(
  service: ComputeService,
  step: NovaStep,
  failpoint: Failpoint,
): Promise<string | null> {
  for (let tries = 0; ; tries += 1) {
    const { is, why } = rowStateOf(step, await service.specs(named(step).flavorid));
    if (is === "after") return null;
    if (is === "other") return why;
    await failpoint("nova.call.before");
    const answer = await write(service, step);
    await failpoint("nova.call.after");
    if (answer.status >= 200 && answer.status < 300) return null;
    // Gone since it was read: the next look tells what is.
    if (!mayPass(answer) && (answer.status !== 404 || tries > 0))
      throw refusedCall(service, `to change ${step.id}`, answer);
    if (tries === TRIES)
      throw new MigrationError(
        "N2I-E210",
        `${service.url} does not say what became of ${step.id}: ${answer.fault}`,
      );
    await pause(tries);
  }
}

/** The call by which a step over REST is made. */
export function callOf({ before, after }: Pick<NovaStep, "before" | "after">): SpecCall {
  if ((after?.value ?? null) === null) return "DELETE";
  return before === null ? "POST" : "PUT";
}

function write(service: ComputeService, step: NovaStep): Promise<Answer> {
  const { flavorid, key } = named(step);
  const value = step.after?.value ?? null;
  const call = callOf(step);
  switch (call) {
    case "DELETE":
      return service.tell(call, specsPath(flavorid, key));
    case "POST":
      return service.tell(call, specsPath(flavorid), { extra_specs: { [key]: value } });
    case "PUT":
      return service.tell(call, specsPath(flavorid, key), { [key]: value });
  }
}
