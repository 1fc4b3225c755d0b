import type { Clock } from "../../engine/part.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ManageAsked, RecordKeeper, SeenServer } from "../../model/ironic/manage.ts";
import type { FakeHardware } from "../../systems/ironic-api/fake-hardware.ts";
import type { Offers } from "../../systems/nova-api/offers.ts";
import type { NovaServers, ServerAsked } from "../../systems/nova-api/servers.ts";
import type { Alone } from "../../systems/openstack/first-alone.ts";
import type { NetworkService } from "../../systems/openstack/neutron-ports.ts";
import type { Act, ManageChange } from "./manage-acts.ts";

export interface NovaHands {
  readonly keeper: Pick<RecordKeeper, "hold" | "release">;
  readonly hardware: FakeHardware;
  readonly servers: NovaServers;
  readonly offers: Offers;
  /** Fails if Neutron is unknown. */
  readonly network: () => Promise<NetworkService>;
  readonly look: (change: ManageChange) => Promise<SeenServer>;
  readonly objections: (
    seen: SeenServer,
    server: string,
    twice: ReadonlySet<string>,
  ) => Promise<readonly string[]>;
  readonly portsOf: (seen: SeenServer) => readonly string[];
  readonly askedOf: (
    asked: ManageAsked,
    at: { readonly id: string; readonly before: JsonObject; readonly ports: readonly string[] },
  ) => ServerAsked;
  /**
   * Creates the first server alone: with two first builds at once, nova-compute's Ironic client
   * fails one with "no API version was specified" (Nova 26).
   *
   * @source python-ironicclient 5: common/http.py, negotiate_version
   */
  readonly alone: Alone;
  /** Milliseconds to watch a machine afterwards. */
  readonly watch: number;
  readonly clock: Clock;
}

export interface ServerMaking {
  readonly hands: NovaHands;
  readonly id: string;
  readonly server: string;
  readonly asked: ManageAsked;
  readonly seen: SeenServer;
  /** Neutron ports that more than one machine names. */
  readonly twice: ReadonlySet<string>;
  /** The replaced fields of the node. */
  before: JsonObject;
  /** The new server has the power state of its machine in Nova and Ironic. */
  stands?: boolean;
  /** Nova was called more than once to create the server. */
  again?: boolean;
  over?: string;
  readonly acts: readonly Act[];
  readonly begin: (act: Act) => Promise<void>;
}
