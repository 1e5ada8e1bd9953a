// Limits for input from clients. Upstream has none of them; it limits only the size of bodies and
// of etcd's requests.

/**
 * The number of values (fields, map entries and list items) in a new object or a patch. The time of
 * a write grows with them, at some microseconds each. The largest real objects, definitions of
 * custom resources, have 25,000.
 */
export const MAX_NEW_VALUES = 50_000;

/**
 * The number of values in any other body, and in a stored object: its managed fields have up to as
 * many values as the rest.
 */
export const MAX_BODY_VALUES = 2 * MAX_NEW_VALUES;

/**
 * The number of quantities in an object: each takes longer than other values. A ResourceSlice of
 * 128 devices has up to 4,096.
 */
export const MAX_QUANTITIES = 10_000;
