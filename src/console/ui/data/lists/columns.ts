// The columns of a list and their widths: those of the server, with the namespace in front and the
// age as this page computes it.

import { durationText } from '../text/age.ts';
import type { Row } from './row.ts';
import { AGE_COLUMN, NAMESPACE_COLUMN } from './sort.ts';
import type { TableColumn } from './table.ts';

export interface ListColumn {
  readonly name: string;
  readonly description: string;
  /** Pixels. The name's column takes what is left as well. */
  readonly width: number;
  readonly kind: 'name' | 'namespace' | 'age' | 'cell';
  /** The index of the cell, for 'cell'. */
  readonly index: number;
  readonly numeric: boolean;
}

export interface ColumnChoice {
  readonly withNamespace: boolean;
  /** Includes columns that kubectl shows with -o wide. */
  readonly wide: boolean;
  /** Little room: only what identifies an object and says how it is. */
  readonly narrow: boolean;
}

/** The average width of a character of the list's font. */
const CHARACTER = 7.9;
const PADDING = 40;
const MIN_WIDTH = 64;
const MAX_WIDTH = 340;
/** Widths follow the first rows. */
const SAMPLE = 60;

const NARROW = /^(ready|status|phase|state|type|age)$/i;

export function listColumns(
  columns: readonly TableColumn[],
  rows: readonly Row[],
  choice: ColumnChoice,
): readonly ListColumn[] {
  const result: ListColumn[] = [];
  columns.forEach(({ name, description = '', type, format, priority = 0 }, index) => {
    const isName = format === 'name' || (index === 0 && name === 'Name');
    const isAge = name === AGE_COLUMN || (type === 'date' && name === 'Created At');
    if (!isName && choice.narrow && !NARROW.test(name)) return;
    if (priority > 0 && !choice.wide) return;
    const numeric = type === 'integer' || type === 'number';
    const kind = isName ? 'name' : isAge ? 'age' : 'cell';
    const width = isAge ? 84 : widthOf(name, rows, (row) => textOfCell(row.cells[index]));
    result.push({
      name: isAge ? AGE_COLUMN : name,
      description,
      width: isName ? (choice.narrow ? 140 : Math.max(width, 180)) : width,
      kind,
      index,
      numeric,
    });
    if (isName && choice.withNamespace && !choice.narrow)
      result.push({
        name: NAMESPACE_COLUMN,
        description: 'The namespace of the object.',
        width: widthOf(NAMESPACE_COLUMN, rows, ({ namespace }) => namespace),
        kind: 'namespace',
        index: -1,
        numeric: false,
      });
  });
  return result;
}

function widthOf(title: string, rows: readonly Row[], text: (row: Row) => string): number {
  let longest = title.length + 2;
  for (const row of rows.slice(0, SAMPLE)) longest = Math.max(longest, text(row).length);
  return Math.round(Math.min(Math.max(longest * CHARACTER + PADDING, MIN_WIDTH), MAX_WIDTH));
}

/** Returns a cell as text. */
const textOfCell = (cell: unknown): string => (cell == null ? '' : String(cell));

/** Returns the text of a row in a column. */
export function cellText(row: Row, column: ListColumn, now: number): string {
  switch (column.kind) {
    case 'name':
      return row.name;
    case 'namespace':
      return row.namespace;
    case 'age':
      return durationText(now - row.created);
    case 'cell':
      return textOfCell(row.cells[column.index]);
  }
}
