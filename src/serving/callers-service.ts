import { MigrationError } from "../lib/error.ts";
import type { ServedRequest } from "../model/served.ts";
import type { RestService } from "../systems/ironic-api/service.ts";
import type { Http } from "../systems/openstack/http.ts";
import { ironicFor } from "./for-caller.ts";

/**
 * A read-only Ironic client that uses the caller's token.
 *
 * @param token null if the service checks no tokens
 * @param refused called with the status if Ironic refuses the token
 */
export function callersService(
  http: Http,
  service: RestService,
  { globalId, upstream }: ServedRequest,
  token: string | null,
  refused: (status: 401 | 403) => void = () => undefined,
): RestService {
  const { url } = service.session;
  const ironic = ironicFor(http, url, { token, id: globalId, upstream });
  return {
    ...service,
    async ask(path) {
      const { status, body, fault: reason } = await ironic.ask(path, service.minor);
      if (status === 200 && body !== null) return body;
      if (status === 404) return null;
      const denied = status === 401 || status === 403;
      if (denied) refused(status);
      throw new MigrationError(
        denied ? "N2I-E211" : "N2I-E210",
        denied ? `Ironic refuses this token: ${reason}` : `Ironic does not answer: ${reason}`,
      );
    },
  };
}
