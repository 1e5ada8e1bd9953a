// Hints: on which NUMA nodes a resource of a container can be allocated.

export interface Hint {
  /** The NUMA nodes, as bits. Absent: any. */
  readonly mask?: number;
  /** The allocation needs as few nodes as possible. */
  readonly preferred: boolean;
}

/**
 * The hints of one provider by resource. An empty list: the resource cannot be allocated on any
 * nodes. Undefined, or no resources: the provider has no preference.
 */
export type Hints = ReadonlyMap<string, readonly Hint[]> | undefined;
