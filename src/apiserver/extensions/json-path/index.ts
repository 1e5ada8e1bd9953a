// JSONPath for printer columns and selectable fields.

export { evaluateJsonPath, PathWork } from './evaluate.ts';
export { JsonPathError } from './nodes.ts';
export type { PathNode } from './nodes.ts';
export { parseJsonPath } from './parser.ts';
