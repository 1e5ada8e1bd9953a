// Differences between JSON values: as values, as a JSON patch, and as text.

export { differences } from './differences.ts';
export type { Difference } from './differences.ts';
export { formatDifferences } from './format.ts';
export { jsonPatchOf } from './json-patch-of.ts';
