// The table of kinds with only a name and an age.

import { since } from './age.ts';
import { AGE, NAME } from './columns.ts';
import type { TableConvertor } from './table.ts';

export const namedTable: TableConvertor = {
  columns: [NAME, AGE],
  cells: ({ metadata }, now) => [metadata.name, since(metadata.creationTimestamp, now)],
};
