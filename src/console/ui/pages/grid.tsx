// Rows of a list, as many as there are: only those in sight are in the document. Plain elements and
// one style sheet, because a row is drawn at every step of scrolling.

import {
  type KeyboardEvent,
  memo,
  type MouseEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useRef,
  useState,
} from 'react';
import { cellSeverity } from '../data/lists/cell-severity.ts';
import { cellText, type ListColumn } from '../data/lists/columns.ts';
import { printable } from '../data/text/printable.ts';
import type { Row } from '../data/lists/row.ts';
import type { Sorting } from '../data/lists/sort.ts';
import { SeverityMark } from '../parts/basics.tsx';
import { useFixedRows } from '../parts/fixed-rows.ts';
import { useNow } from '../parts/hooks.ts';
import { takesText } from '../shell/keys.ts';

const ROW_HEIGHT = 34;
const HEAD_HEIGHT = 35;
/** Browsers do not lay out elements of more than about 16 million pixels. */
const MAX_ROWS = 450_000;

export interface GridProps {
  readonly label: string;
  readonly columns: readonly ListColumn[];
  readonly rows: readonly Row[];
  /** Changes whenever the rows may have changed in place. */
  readonly version: unknown;
  readonly sorting: Sorting | undefined;
  readonly selected: ReadonlySet<string>;
  readonly routeOf: (row: Row) => string;
  readonly onOpen: (row: Row) => void;
  readonly onSelect: (selected: ReadonlySet<string>) => void;
  readonly onSort: (sorting: Sorting | undefined) => void;
  readonly focusFilter: () => void;
}

export function Grid(props: GridProps): ReactNode {
  const { label, columns, rows, sorting, selected, onSelect, onSort } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(-1);
  const now = useNow(5000);
  const count = Math.min(rows.length, MAX_ROWS);
  const { first, end, scrollTo } = useFixedRows({
    scroller,
    count,
    rowHeight: ROW_HEIGHT,
    headHeight: HEAD_HEIGHT,
  });
  const template = `36px ${columns
    .map(({ kind, width }) => (kind === 'name' ? `minmax(${width}px, 1fr)` : `${width}px`))
    .join(' ')}`;
  const width = 36 + columns.reduce((sum, column) => sum + column.width, 0);
  const allSelected = selected.size > 0 && selected.size >= rows.length;
  const move = (to: number): void => {
    const index = Math.max(0, Math.min(count - 1, to));
    setActive(index);
    scrollTo(index);
  };
  const onKeyDown = useGridKeys(props, { active, move, pageRows: pageRowsOf(scroller.current) });
  useEffect(() => {
    if (active >= count) setActive(count - 1);
  }, [active, count]);
  const latest = useRef(props);
  latest.current = props;
  // Stays the same, so that rows are drawn again only when they change.
  const press = useCallback((event: MouseEvent, row: Row, index: number) => {
    setActive(index);
    if (event.target instanceof HTMLInputElement)
      latest.current.onSelect(toggled(latest.current.selected, row.uid));
    else if (!(event.target instanceof HTMLAnchorElement)) latest.current.onOpen(row);
  }, []);
  return (
    <div
      ref={scroller}
      className="grid"
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length + 1}
      aria-multiselectable="true"
      aria-activedescendant={active === -1 ? undefined : `row-${active}`}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <div
        className="grid-head"
        role="row"
        aria-rowindex={1}
        style={{ gridTemplateColumns: template, minWidth: width }}
      >
        <div role="columnheader" className="grid-check">
          <input
            type="checkbox"
            aria-label="Select all that are shown"
            checked={allSelected}
            ref={(element) => {
              if (element !== null) element.indeterminate = selected.size > 0 && !allSelected;
            }}
            onChange={() => onSelect(allSelected ? new Set() : new Set(rows.map(({ uid }) => uid)))}
          />
        </div>
        {columns.map((column) => (
          <HeaderCell key={column.name} column={column} sorting={sorting} onSort={onSort} />
        ))}
      </div>
      <div
        role="rowgroup"
        className="grid-body"
        style={{ height: count * ROW_HEIGHT, minWidth: width }}
        onMouseOver={showWholeText}
      >
        {rows.slice(first, end).map((row, n) => (
          <GridRow
            // Rows that come into sight take the elements of those that have left it.
            key={(first + n) % (end - first)}
            row={row}
            index={first + n}
            template={template}
            columns={columns}
            now={now}
            active={first + n === active}
            selected={selected.has(row.uid)}
            href={`#${props.routeOf(row)}`}
            onPress={press}
          />
        ))}
      </div>
    </div>
  );
}

const pageRowsOf = (element: HTMLElement | null): number =>
  Math.max(1, Math.floor((element?.clientHeight ?? 0) / ROW_HEIGHT) - 2);

function toggled(selected: ReadonlySet<string>, uid: string): ReadonlySet<string> {
  const next = new Set(selected);
  if (!next.delete(uid)) next.add(uid);
  return next;
}

interface Cursor {
  readonly active: number;
  readonly move: (to: number) => void;
  readonly pageRows: number;
}

/**
 * Gives a cell whose text does not fit its text as a tooltip. One handler for all: attributes of
 * each cell would have to be changed at every step of scrolling.
 */
function showWholeText({ target }: MouseEvent): void {
  if (!(target instanceof HTMLElement)) return;
  const cell = target.closest<HTMLElement>('.grid-cell');
  if (cell === null) return;
  const isCut = cell.scrollWidth > cell.clientWidth;
  if (isCut) cell.title = cell.textContent;
  else cell.removeAttribute('title');
}

/** Returns the handler of the grid's keys. */
function useGridKeys(
  { rows, selected, onSelect, onOpen, focusFilter }: GridProps,
  { active, move, pageRows }: Cursor,
): (event: KeyboardEvent) => void {
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || takesText(event.target)) return;
      event.preventDefault();
      focusFilter();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  });
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[active];
    const step = (to: number): void => {
      if (event.shiftKey && row !== undefined) {
        const next = rows[Math.max(0, Math.min(rows.length - 1, to))];
        onSelect(new Set([...selected, row.uid, ...(next === undefined ? [] : [next.uid])]));
      }
      move(to);
    };
    switch (event.key) {
      case 'ArrowDown':
      case 'j':
      case 'J':
        step(active + 1);
        break;
      case 'ArrowUp':
      case 'k':
      case 'K':
        step(active - 1);
        break;
      case 'PageDown':
        move(active + pageRows);
        break;
      case 'PageUp':
        move(active - pageRows);
        break;
      case 'Home':
        move(0);
        break;
      case 'End':
        move(rows.length - 1);
        break;
      case ' ':
      case 'x':
        if (row === undefined) return;
        onSelect(toggled(selected, row.uid));
        break;
      case 'Enter':
        if (row === undefined || event.target instanceof HTMLAnchorElement) return;
        onOpen(row);
        break;
      case 'Escape':
        onSelect(new Set());
        break;
      default:
        return;
    }
    event.preventDefault();
  };
}

function HeaderCell({
  column,
  sorting,
  onSort,
}: {
  readonly column: ListColumn;
  readonly sorting: Sorting | undefined;
  readonly onSort: (sorting: Sorting | undefined) => void;
}): ReactNode {
  const isSorted = sorting?.column === column.name;
  const direction = !isSorted ? 'none' : sorting.descending ? 'descending' : 'ascending';
  // Ascending, descending, the server's order.
  const next = !isSorted
    ? { column: column.name, descending: false }
    : sorting.descending
      ? undefined
      : { column: column.name, descending: true };
  return (
    <div
      role="columnheader"
      aria-sort={direction}
      className={`grid-title${column.numeric ? ' grid-number' : ''}`}
      title={column.description}
    >
      <button type="button" onClick={() => onSort(next)}>
        {printable(column.name)}
        <span aria-hidden="true" className="sort-mark">
          {direction === 'ascending' ? '↑' : direction === 'descending' ? '↓' : ''}
        </span>
      </button>
    </div>
  );
}

interface GridRowProps {
  readonly row: Row;
  readonly index: number;
  readonly template: string;
  readonly columns: readonly ListColumn[];
  readonly now: number;
  readonly active: boolean;
  readonly selected: boolean;
  readonly href: string;
  readonly onPress: (event: MouseEvent, row: Row, index: number) => void;
}

const GridRow = memo(
  ({ row, index, template, columns, now, active, selected, href, onPress }: GridRowProps) => (
    <div
      role="row"
      id={`row-${index}`}
      aria-rowindex={index + 2}
      aria-selected={selected}
      className={`grid-row${active ? ' grid-active' : ''}${row.deleting ? ' grid-deleting' : ''}`}
      style={{ transform: `translateY(${index * ROW_HEIGHT}px)`, gridTemplateColumns: template }}
      onClick={(event) => onPress(event, row, index)}
    >
      <div role="gridcell" className="grid-check">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Select ${row.name}`}
          checked={selected}
          readOnly
        />
      </div>
      {columns.map((column) => cellOf(column, row, now, href))}
    </div>
  ),
  (before, after) =>
    before.row === after.row &&
    before.index === after.index &&
    before.template === after.template &&
    before.columns === after.columns &&
    before.now === after.now &&
    before.active === after.active &&
    before.selected === after.selected,
);
GridRow.displayName = 'GridRow';

/** Returns the cell as an element. It is no component: a row is drawn at every step of scrolling. */
function cellOf(column: ListColumn, row: Row, now: number, href: string): ReactNode {
  const text = printable(cellText(row, column, now));
  if (column.kind === 'name')
    return (
      <div key={column.name} role="gridcell" className="grid-cell grid-name">
        <a href={href} tabIndex={-1}>
          {text}
        </a>
        {row.deleting && <span className="grid-tag">deleting</span>}
      </div>
    );
  const severity =
    column.kind === 'cell' ? cellSeverity(column.name, row.cells[column.index]) : 'neutral';
  return (
    <div
      key={column.name}
      role="gridcell"
      className={
        column.numeric ? `grid-cell grid-number state-${severity}` : `grid-cell state-${severity}`
      }
    >
      {severity !== 'neutral' && <SeverityMark severity={severity} />}
      {text}
    </div>
  );
}
