// Orders of rows. Every order is total: rows that compare equal are ordered by their place in the
// server's list, so that a row is found by binary search.

import type { Row } from './row.ts';
import type { TableColumn } from './table.ts';

export type Compare = (a: Row, b: Row) => number;

export interface Sorting {
  readonly column: string;
  readonly descending: boolean;
}

const order = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0);

/** The order of the server's list. */
export const byKey: Compare = (a, b) =>
  order(a.namespace, b.namespace) || order(a.name, b.name) || order(a.uid, b.uid);

/** The names of columns that this page adds to those of the server. */
export const NAMESPACE_COLUMN = 'Namespace';
/** The server's own Age is the age at the time of its answer: it is computed from the row. */
export const AGE_COLUMN = 'Age';

/** Returns the comparison for a column of the server's, or one of this page. */
export function compareBy(sorting: Sorting | undefined, columns: readonly TableColumn[]): Compare {
  if (sorting === undefined) return byKey;
  const compare = ascending(sorting.column, columns);
  return sorting.descending
    ? (a, b) => compare(b, a) || byKey(a, b)
    : (a, b) => compare(a, b) || byKey(a, b);
}

function ascending(column: string, columns: readonly TableColumn[]): Compare {
  if (column === NAMESPACE_COLUMN) return (a, b) => order(a.namespace, b.namespace);
  // An age grows as the time of creation falls.
  if (column === AGE_COLUMN) return (a, b) => order(timeOf(b), timeOf(a));
  const index = columns.findIndex(({ name }) => name === column);
  if (index === -1) return () => 0;
  return (a, b) => compareCells(a.cells[index], b.cells[index]);
}

const timeOf = ({ created }: Row): number => (Number.isNaN(created) ? 0 : created);

/** Compares texts that begin with numbers, such as '3/5' or '12 (5m ago)', by these numbers. */
function compareCells(a: Row['cells'][number] | undefined, b: typeof a): number {
  if (a === b) return 0;
  const [x, y] = [numberOf(a), numberOf(b)];
  if (!Number.isNaN(x) && !Number.isNaN(y) && x !== y) return x - y;
  return order(String(a ?? ''), String(b ?? ''));
}

const numberOf = (cell: unknown): number => {
  if (typeof cell === 'number') return cell;
  if (typeof cell !== 'string') return Number.NaN;
  const first = cell.charCodeAt(0);
  return first >= 48 && first <= 57 ? Number.parseFloat(cell) : Number.NaN;
};
