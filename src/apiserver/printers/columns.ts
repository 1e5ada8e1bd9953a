// Columns that many tables share.

import type { TableColumn } from '../registry/table.ts';

export const NAME: TableColumn = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name of the object, unique within its namespace.',
};
export const AGE: TableColumn = { name: 'Age', type: 'string', description: 'Time since the object was created.' };

export function column(
  name: string,
  description: string,
  options: { type?: TableColumn['type']; wide?: boolean } = {},
): TableColumn {
  return { name, type: options.type ?? 'string', description, ...(options.wide === true && { priority: 1 }) };
}

/** Values in one cell, or a word for none. */
export function joined(values: readonly string[] | undefined, none = '<none>'): string {
  return values === undefined || values.length === 0 ? none : values.join(',');
}
