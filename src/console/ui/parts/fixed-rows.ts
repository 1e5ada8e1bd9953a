// Which rows of a long list are in sight, if all have the same height. Scrolling draws the list
// again only when a row comes into sight.

import { type RefObject, useCallback, useEffect, useState } from 'react';

export interface FixedRowsConfig {
  readonly scroller: RefObject<HTMLElement | null>;
  readonly count: number;
  /** In pixels, as is the height of what stays above the rows. */
  readonly rowHeight: number;
  readonly headHeight: number;
}

export interface FixedRows {
  /** The rows from `first` up to and excluding `end` are drawn. */
  readonly first: number;
  readonly end: number;
  /** Scrolls as little as possible so that the row is in sight. */
  scrollTo(index: number): void;
}

/** Rows beyond the edges: they are there before the next frame needs them. */
const OVERSCAN = 6;
/** The range begins at multiples of this, so that short steps of scrolling draw nothing. */
const STEP = 4;

interface Range {
  readonly first: number;
  readonly end: number;
}

/** Returns the rows to draw at a position. Exported for tests. */
export function rangeAt(
  top: number,
  height: number,
  { count, rowHeight }: Pick<FixedRowsConfig, 'count' | 'rowHeight'>,
): Range {
  const inSight = Math.ceil(height / rowHeight) + 1;
  const begin = Math.floor(top / rowHeight / STEP) * STEP;
  const first = Math.max(0, Math.min(begin, count - inSight) - OVERSCAN);
  return { first, end: Math.min(count, begin + inSight + STEP + OVERSCAN) };
}

export function useFixedRows({
  scroller,
  count,
  rowHeight,
  headHeight,
}: FixedRowsConfig): FixedRows {
  const [range, setRange] = useState<Range>({ first: 0, end: 0 });
  const update = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    const next = rangeAt(element.scrollTop, element.clientHeight, { count, rowHeight });
    setRange((last) => (last.first === next.first && last.end === next.end ? last : next));
  }, [scroller, count, rowHeight]);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    update();
    const observer = new ResizeObserver(update);
    observer.observe(element);
    element.addEventListener('scroll', update, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', update);
    };
  }, [scroller, update]);
  const scrollTo = useCallback(
    (index: number) => {
      const element = scroller.current;
      if (element === null) return;
      const top = index * rowHeight;
      const room = element.clientHeight - headHeight;
      if (top < element.scrollTop) element.scrollTop = top;
      else if (top + rowHeight > element.scrollTop + room)
        element.scrollTop = top + rowHeight - room;
    },
    [scroller, rowHeight, headHeight],
  );
  return { first: Math.min(range.first, count), end: Math.min(range.end, count), scrollTo };
}
