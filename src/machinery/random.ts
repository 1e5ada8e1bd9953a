// Randomness for everything: UIDs, name suffixes, jitter. The only file that makes random numbers for use by
// components, so that a seed replays a run. Keys and tokens come from node:crypto (see systemRandom.bytes), never from a seed
// outside simulation.

export interface Random {
  /** A number in [0, 1). */
  float(): number;
  /** An integer in [0, exclusiveMax). */
  int(exclusiveMax: number): number;
  /** A version 4 UUID, as object UIDs are. */
  uuid(): string;
  /** `length` characters of the alphabet that Kubernetes uses for generated names (bcdfghjklmnpqrstvwxz2456789). */
  nameSuffix(length: number): string;
  /** `length` random bytes; cryptographically strong on the system source. */
  bytes(length: number): Uint8Array;
}
