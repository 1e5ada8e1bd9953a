// The filter of a list: words and expressions, separated by spaces. All of them must hold.
//
//   web                 a cell, the name or the namespace contains it
//   "two words"         the same, with spaces
//   app=web, app!=web   a label has the value, or has not
//   app in (a, b)       a label has one of the values; also `notin`
//   has:app, !app       a label exists, or does not
//   status:running      a column contains the text
//   restarts>3, age<5m  a column is above or below a number or a duration
//   -web                the opposite of any of these

import type { Cell, Row } from './row.ts';
import { AGE_COLUMN, NAMESPACE_COLUMN } from './sort.ts';
import type { TableColumn } from './table.ts';

export type Predicate = (row: Row) => boolean;

export class FilterError extends Error {}

/** A longer filter is a mistake. */
const MAX_LENGTH = 2000;

export interface FilterContext {
  readonly columns: readonly TableColumn[];
  readonly now: number;
}

/**
 * Returns the predicate of a filter; undefined for an empty one. Throws FilterError with a text for
 * the user.
 */
export function parseFilter(text: string, context: FilterContext): Predicate | undefined {
  if (text.length > MAX_LENGTH) throw new FilterError('the filter is too long');
  const terms = termsOf(text).map((term) => parseTerm(term, context));
  if (terms.length === 0) return undefined;
  if (terms.length === 1) return terms[0];
  return (row) => terms.every((term) => term(row));
}

const TERM =
  /\s*(?:(-?)"([^"]*)"|(-?!?[\w./-]+)\s+(in|notin)\s*\(([^)]*)\)|((?:[^\s"(]|(?<=[:=])"[^"]*")+))/gy;

type Term =
  | { readonly kind: 'text'; readonly negated: boolean; readonly text: string }
  | {
      readonly kind: 'set';
      readonly negated: boolean;
      readonly label: string;
      readonly values: ReadonlySet<string>;
    }
  | { readonly kind: 'word'; readonly negated: boolean; readonly text: string };

function termsOf(text: string): Term[] {
  const terms: Term[] = [];
  TERM.lastIndex = 0;
  let end = 0;
  for (;;) {
    const match = TERM.exec(text);
    if (match === null) break;
    end = TERM.lastIndex;
    const [, minus, quoted, label, operator, values, word] = match;
    if (quoted !== undefined) terms.push({ kind: 'text', negated: minus === '-', text: quoted });
    else if (label !== undefined)
      terms.push({
        kind: 'set',
        negated: (operator === 'notin') !== label.startsWith('-'),
        label: label.replace(/^-/, ''),
        values: new Set((values ?? '').split(',').map((value) => value.trim())),
      });
    else if (word !== undefined && word !== '-') {
      const negated = word.startsWith('-') && word.length > 1;
      terms.push({ kind: 'word', negated, text: negated ? word.slice(1) : word });
    }
  }
  const rest = text.slice(end).trim();
  if (rest !== '' && rest !== '-')
    throw new FilterError(
      rest.startsWith('"')
        ? 'a quotation mark has no counterpart'
        : `cannot read “${rest}”: use label in (a, b)`,
    );
  return terms;
}

function parseTerm(term: Term, context: FilterContext): Predicate {
  const positive = parsePositive(term, context);
  return term.negated ? (row) => !positive(row) : positive;
}

function parsePositive(term: Term, context: FilterContext): Predicate {
  if (term.kind === 'set') {
    const { label, values } = term;
    return (row) => {
      const value = labelOf(row, label);
      return value !== undefined && values.has(value);
    };
  }
  if (term.kind === 'text') return contains(term.text);
  return parseWord(term.text, context);
}

function parseWord(word: string, context: FilterContext): Predicate {
  if (word.startsWith('!') && word.length > 1) {
    const label = word.slice(1);
    return (row) => labelOf(row, label) === undefined;
  }
  const equality = /^([\w./-]+)(!=|==?)"?([^"]*)"?$/.exec(word);
  if (equality !== null) {
    const [, label = '', operator, value = ''] = equality;
    return operator === '!='
      ? (row) => labelOf(row, label) !== value
      : (row) => labelOf(row, label) === value;
  }
  const comparison = /^([\w-]+)(<=|>=|<|>)(.+)$/.exec(word);
  if (comparison !== null) {
    const [, column = '', operator = '', value = ''] = comparison;
    return compare(column, operator, value, context);
  }
  const pair = /^([\w-]+):"?([^"]+)"?$/.exec(word);
  if (pair !== null) {
    const [, name = '', value = ''] = pair;
    if (name === 'has') return (row) => labelOf(row, value) !== undefined;
    const column = columnReader(name, context);
    if (column !== undefined) {
      const matches = containing(value.toLowerCase());
      return (row) => matches(column(row));
    }
  }
  return contains(word);
}

const labelOf = ({ labels }: Row, name: string): string | undefined =>
  Object.hasOwn(labels, name) ? labels[name] : undefined;

/**
 * Returns the predicate of a text anywhere in the row. Neighbours in a list mostly have the same
 * texts, and share them: what a column had last is not looked at again.
 */
function contains(text: string): Predicate {
  const wanted = text.toLowerCase();
  const columns: ((cell: Cell | undefined) => boolean)[] = [];
  const namespace = containing(wanted);
  return (row) => {
    // Names have no upper case.
    if (row.name.includes(wanted) || namespace(row.namespace)) return true;
    const { name, cells } = row;
    for (let index = 0; index < cells.length; index++) {
      const cell = cells[index];
      if (cell === name) continue;
      const matches = (columns[index] ??= containing(wanted));
      if (matches(cell)) return true;
    }
    return false;
  };
}

/** Returns a test of the cells of one column, which remembers the last one. */
function containing(wanted: string): (cell: Cell | undefined) => boolean {
  let last: Cell | undefined;
  let result = false;
  return (cell) => {
    if (cell === last) return result;
    last = cell;
    result = cell != null && String(cell).toLowerCase().includes(wanted);
    return result;
  };
}

type Reader = (row: Row) => Cell | undefined;

const normalized = (name: string): string => name.toLowerCase().replaceAll(/[\s_-]/g, '');

function columnReader(name: string, { columns }: FilterContext): Reader | undefined {
  const wanted = normalized(name);
  if (wanted === normalized(NAMESPACE_COLUMN)) return (row) => row.namespace;
  if (wanted === 'name') return (row) => row.name;
  const index = columns.findIndex((column) => normalized(column.name) === wanted);
  return index === -1 ? undefined : (row) => row.cells[index];
}

function compare(name: string, operator: string, value: string, context: FilterContext): Predicate {
  const isAge = normalized(name) === normalized(AGE_COLUMN);
  const column = isAge ? undefined : columnReader(name, context);
  if (!isAge && column === undefined) throw new FilterError(`there is no column “${name}”`);
  const limit = isAge ? durationOf(value) : Number.parseFloat(value);
  if (Number.isNaN(limit))
    throw new FilterError(
      isAge ? `“${value}” is no duration: use 30s, 5m, 2h or 7d` : `“${value}” is no number`,
    );
  const read = isAge
    ? (row: Row): number => context.now - row.created
    : (row: Row): number => Number.parseFloat(String(column!(row) ?? ''));
  const holds = OPERATORS[operator]!;
  return (row) => holds(read(row), limit);
}

const OPERATORS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b,
};

const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Returns a duration such as '1h30m' in milliseconds; NaN if it is none. */
function durationOf(text: string): number {
  if (!/^(\d+(\.\d+)?[smhd])+$/.test(text)) return Number.NaN;
  return [...text.matchAll(/([\d.]+)([smhd])/g)].reduce(
    (sum, [, amount = '', unit = '']) => sum + Number.parseFloat(amount) * UNITS[unit]!,
    0,
  );
}
