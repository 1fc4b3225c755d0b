import type { Clock } from "../../engine/part.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ManageAsked, RecordKeeper, SeenServer } from "../../model/ironic/manage.ts";
import type { FakeHardware } from "../../systems/ironic-api/fake-hardware.ts";
import type { Offers } from "../../systems/nova-api/offers.ts";
import type { NovaServers, ServerAsked } from "../../systems/nova-api/servers.ts";
import type { Alone } from "../../systems/openstack/first-alone.ts";
import type { NetworkService } from "../../systems/openstack/neutron-ports.ts";
import type { Act, ManageChange } from "./manage-acts.ts";

/** What a server of Nova is made with, on a machine that runs already. */
export interface NovaHands {
  readonly keeper: Pick<RecordKeeper, "hold" | "release">;
  readonly hardware: FakeHardware;
  readonly servers: Pick<
    NovaServers,
    | "project"
    | "read"
    | "isUntouched"
    | "portsOn"
    | "find"
    | "twins"
    | "still"
    | "built"
    | "create"
    | "turn"
    | "remove"
  >;
  readonly offers: Pick<Offers, "of" | "claims">;
  /** Where a port is named that Neutron has. */
  readonly network: () => Promise<Pick<NetworkService, "whole" | "restore">>;
  readonly look: (change: ManageChange) => Promise<SeenServer>;
  /** Everything that stands against a machine that nothing was begun for. */
  readonly objections: (
    seen: SeenServer,
    server: string,
    twice: ReadonlySet<string>,
  ) => Promise<readonly string[]>;
  /** Ids of Neutron's ports that are to be its server's. */
  readonly portsOf: (seen: SeenServer) => readonly string[];
  readonly askedOf: (
    asked: ManageAsked,
    at: { readonly id: string; readonly before: JsonObject; readonly ports: readonly string[] },
  ) => ServerAsked;
  /**
   * The first server is alone until Ironic was told to deploy it: where two are the first that a nova-compute of Nova 26
   * builds, its client of Ironic fails one, and says that no API version was specified.
   *
   * @source python-ironicclient 5: common/http.py, negotiate_version
   */
  readonly alone: Alone;
  /** Milliseconds for which a machine is looked at afterwards. */
  readonly watch: number;
  readonly clock: Clock;
}

/** A machine on its way there. */
export interface ServerMaking {
  readonly hands: NovaHands;
  readonly id: string;
  readonly server: string;
  readonly asked: ManageAsked;
  readonly seen: SeenServer;
  /** Neutron ports that more than one machine names. */
  readonly twice: ReadonlySet<string>;
  /** What of the node is replaced, as it was. */
  before: JsonObject;
  /** Just built, it is on or off everywhere as its machine is. */
  stands?: boolean;
  /** Nova was asked for its server more than once. */
  again?: boolean;
  /** How Nova refused its server for a quota. */
  over?: string;
  /** Done so far. */
  readonly acts: readonly Act[];
  readonly begin: (act: Act) => Promise<void>;
}
