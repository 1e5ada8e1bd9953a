import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Row } from './row.ts';
import { type RowChange, RowStore } from './row-store.ts';
import { RowView } from './row-view.ts';
import { compareBy } from './sort.ts';

const columns = [{ name: 'Restarts', type: 'integer' }];

const row = (name: string, restarts: number): Row => ({
  uid: name,
  namespace: 'a',
  name,
  created: 0,
  deleting: false,
  labels: {},
  cells: [restarts],
});

const names = (view: RowView): string[] => view.shown.map(({ name }) => name);

describe('RowView', () => {
  test('follows changes as a view that sorts and filters everything again would', () => {
    const batch = fc.array(
      fc.record({
        name: fc.integer({ min: 0, max: 60 }),
        restarts: fc.integer({ min: -1, max: 5 }),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(fc.array(batch, { maxLength: 8 }), fc.boolean(), (batches, descending) => {
        const store = new RowStore();
        const view = new RowView();
        const compare = compareBy({ column: 'Restarts', descending }, columns);
        const passes = ({ cells }: Row): boolean => cells[0] !== 2;
        view.sort(compare);
        view.filter(passes);
        for (const changes of batches) {
          view.apply(
            changes.flatMap(({ name, restarts }): RowChange[] => {
              if (restarts >= 0) return [store.put(row(`p${name}`, restarts))];
              const change = store.delete(`p${name}`);
              return change === undefined ? [] : [change];
            }),
          );
        }
        const all = [...store.values()].sort(compare);
        expect(view.total).toBe(all.length);
        expect(view.shown).toEqual(all.filter(passes));
      }),
    );
  });

  test('a narrower filter looks at the shown rows only', () => {
    const store = new RowStore();
    const view = new RowView();
    view.apply(['b', 'a', 'ab'].map((name) => store.put(row(name, 0))));
    view.filter(({ name }) => name.includes('a'));
    let looked = 0;
    view.filter(({ name }) => ((looked += 1), name.includes('ab')), true);
    expect(names(view)).toEqual(['ab']);
    expect(looked).toBe(2);
  });

  test('a list that is read again removes what it does not contain', () => {
    const store = new RowStore();
    const view = new RowView();
    view.apply(['a', 'b', 'c'].map((name) => store.put(row(name, 0))));
    store.beginList();
    view.apply([store.put(row('b', 1)), store.put(row('d', 0))]);
    view.apply(store.endList());
    expect(names(view)).toEqual(['b', 'd']);
  });
});

describe('150,000 rows', () => {
  const store = new RowStore();
  const view = new RowView();
  const many = Array.from({ length: 150_000 }, (_, index) =>
    row(`pod-${String(index).padStart(6, '0')}`, index % 7),
  );
  for (let start = 0; start < many.length; start += 2000)
    view.apply(many.slice(start, start + 2000).map((each) => store.put(each)));

  test('pages in the order of the server are appended', () => {
    expect(view.total).toBe(150_000);
    expect(view.shown.at(-1)?.name).toBe('pod-149999');
  });

  test('changes of single rows keep the order', () => {
    const changed = [5, 149_998, 70_000].map((index) => store.put(row(many[index]!.name, 99)));
    view.apply(changed);
    expect(view.shown[70_000]?.cells).toEqual([99]);
    expect(view.total).toBe(150_000);
  });
});
