import { randomUUID } from "node:crypto";
import type { SpecCall } from "../../model/database.ts";
import { MigrationError } from "../../model/error.ts";
import type { Cloud } from "../openstack/cloud.ts";
import { askUntilAnswered } from "../openstack/passing.ts";
import { refusedCall } from "../openstack/session.ts";
import { openCompute, specsPath } from "./service.ts";

const KEY = "baremetal:deploy_kernel_id";
const BODY: { readonly [call in SpecCall]: object | undefined } = {
  POST: { extra_specs: { [KEY]: "nova2ironic" } },
  PUT: { [KEY]: "nova2ironic" },
  DELETE: undefined,
};

/**
 * Which calls on extra specs Nova's policy refuses this user. Nova asks its policy before it looks
 * for the flavor, so each is made of one that does not exist, a name nobody has: 403 is the policy's
 * answer and 404 means that it allows the call. Neither changes anything.
 *
 * @param limit milliseconds a call may take
 * @throws MigrationError N2I-E106, N2I-E202, N2I-E210 to N2I-E212
 * @source nova 26.1:nova/api/openstack/compute/flavors_extraspecs.py: context.can() before get_flavor()
 */
export async function refusedCalls(
  cloud: Cloud,
  limit: number,
  calls: ReadonlySet<SpecCall>,
): Promise<readonly SpecCall[]> {
  const service = await openCompute(cloud, limit);
  const flavorid = `nova2ironic-${randomUUID()}`;
  try {
    if ((await service.specs(flavorid)) !== null)
      throw new MigrationError(
        "N2I-E212",
        `${service.url} tells of a flavor that is not there, ${flavorid}`,
      );
    const refused: SpecCall[] = [];
    for (const call of calls) {
      const path = call === "POST" ? specsPath(flavorid) : specsPath(flavorid, KEY);
      const answer = await askUntilAnswered(() => service.tell(call, path, BODY[call]));
      if (answer.status === 403) refused.push(call);
      else if (answer.status !== 404)
        throw refusedCall(service, `to say whether ${call} os-extra_specs is allowed`, answer);
    }
    return refused;
  } finally {
    service.close();
  }
}
