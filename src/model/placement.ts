/** A resource provider, in lower case. */
export interface Provider {
  readonly uuid: string;
  readonly name: string;
}

/** What Placement says of our instances and machines; all in lower case. */
export interface PlacementFacts {
  /** Instance -> the providers it is allocated on; a name is empty where there is no such provider. */
  readonly allocated: ReadonlyMap<string, readonly Provider[]>;
  /** Providers named for our machines. */
  readonly providers: readonly Provider[];
}
