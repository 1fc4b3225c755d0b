import { uuidOf } from "../manage/in-memory.ts";
import { writes } from "../manage/scene.ts";
import { SPARE, type Switchable } from "./switch-memory.ts";

export const OTHER = uuidOf(9, 77);
export const MARKS = `PATCH /v1/nodes/${SPARE}`;
export const LOOKS = `GET /v1/nodes/${SPARE}`;
export const MANAGES = `PUT /v1/nodes/${SPARE}/states/provision`;

export interface Loss {
  readonly what: string;
  /** Whether it happens at this call, by how often the spare's extra was written to before. */
  readonly when: (call: string, marks: number, cloud: Switchable) => boolean;
  readonly change: { readonly [field: string]: string };
  readonly why: RegExp;
}

/** The first look at the spare once it is marked. */
const onceMarked: Loss["when"] = (call, marks) => call === LOOKS && marks === 1;
const onceManaged: Loss["when"] = (call, marks, cloud) =>
  onceMarked(call, marks, cloud) && cloud.nodes.get(SPARE)?.provision_state === "manageable";

export const LOSSES: readonly Loss[] = [
  {
    ...{ what: "locked before it is marked", when: (call) => call === MARKS },
    ...{ change: { reservation: "h" }, why: /PATCH of node \S+ is refused: .*locked by host/ },
  },
  {
    ...{ what: "locked once it is marked", when: onceMarked },
    ...{ change: { reservation: "h" }, why: /is locked by host h, for 300 seconds/ },
  },
  {
    ...{ what: "locked once it is managed", when: onceManaged },
    ...{ change: { reservation: "h" }, why: /is locked by host h, for 300 seconds/ },
  },
  {
    ...{ what: "asked for its state to no end", when: onceManaged },
    change: { reservation: "h", provision_state: "verifying" },
    why: /is locked by host h, for 300 seconds/,
  },
  {
    ...{ what: "locked as it is to be managed", when: (call) => call === MANAGES },
    ...{ change: { reservation: "h" }, why: /manage of node \S+ is refused: .*locked by host/ },
  },
  {
    ...{ what: "given an instance", when: onceMarked },
    ...{ change: { instance_uuid: OTHER }, why: /has instance 99999999-/ },
  },
  {
    ...{ what: "given an instance once it is managed", when: onceManaged },
    ...{ change: { instance_uuid: OTHER }, why: /has instance 99999999-/ },
  },
  {
    ...{ what: "made available", when: onceMarked },
    ...{ change: { provision_state: "available" }, why: /is available, expected manageable/ },
  },
];

/** Lets somebody else have the first spare; a lock ends once the mark is being given back. */
export function loses(cloud: Switchable, { when, change }: Loss): void {
  const spare = cloud.nodes.get(SPARE) ?? {};
  let [marks, isLost] = [0, false];
  cloud.use((call) => {
    if (!isLost && when(call, marks, cloud)) {
      isLost = true;
      cloud.setNode(SPARE, change);
    }
    if (call === MARKS && marks > 0 && isLost) spare.reservation = null;
    if (call === MARKS && spare.reservation === null) marks += 1;
  });
}

/** The spare as it was before somebody took it: an enrolled one stays managed. */
export function restored(cloud: Switchable): void {
  const free = { reservation: null, instance_uuid: null, provision_state: "manageable" };
  cloud.setNode(SPARE, free);
}

export const writesTo = (cloud: Switchable, node: string) =>
  writes(cloud).filter((call) => call.includes(node));
