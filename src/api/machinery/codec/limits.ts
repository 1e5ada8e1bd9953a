// Limits of what a client may send. Upstream has none of them; there the size of a body and of etcd's requests is the only bound.

/**
 * How many values (fields, entries of maps and items of lists) a new object and a patch may have. The time that a write takes grows with
 * them, at some microseconds each. The largest objects of real clusters, definitions of custom resources, have 25,000.
 */
export const MAX_NEW_VALUES = 50_000;

/** The same of any other body, and of a stored object: its managed fields have up to as many values as the rest of it. */
export const MAX_BODY_VALUES = 2 * MAX_NEW_VALUES;

/** How many quantities an object may have: each takes longer than other values. A ResourceSlice of 128 devices has up to 4,096. */
export const MAX_QUANTITIES = 10_000;
