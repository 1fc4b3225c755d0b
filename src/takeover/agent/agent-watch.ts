import { isUp } from "../../migrate/hosts/rules/running.ts";
import type { ComputeHost } from "../../model/nova/host-move.ts";

export type Watch = ReturnType<typeof createWatch>;

/**
 * An age depends on the host's clock, so this process also watches each host.
 *
 * @param down seconds without a report after which a nova-compute is down
 * @param clock monotonic milliseconds
 */
export function createWatch(down: number, clock: () => number) {
  const seen = new Map<string, { readonly count: number | null; readonly since: number }>();
  let services: readonly ComputeHost[] = [];
  return {
    saw(now: readonly ComputeHost[]): void {
      services = now;
      for (const { host, report_count } of now)
        if (seen.get(host)?.count !== report_count)
          seen.set(host, { count: report_count, since: clock() });
      const known = new Set(now.map(({ host }) => host));
      for (const host of seen.keys()) if (!known.has(host)) seen.delete(host);
    },
    /** Silent hosts, including one that reported in the future because of a wrong clock. */
    word() {
      const silent = services.filter(
        (service) =>
          !isUp(service, down) &&
          clock() - (seen.get(service.host)?.since ?? clock()) >= down * 1000,
      );
      return {
        known: new Set(services.map(({ host }) => host)),
        silent: new Set(silent.map(({ host }) => host)),
      };
    },
    /** Hosts that Nova schedules to. */
    fit(): ReadonlySet<string> {
      const fit = services.filter(
        (service) =>
          isUp(service, down) && service.disabled !== true && service.forced_down !== true,
      );
      return new Set(fit.map(({ host }) => host));
    },
  };
}
