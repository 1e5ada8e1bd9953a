import { describe, expect, test } from 'vitest';
import { FilterError, parseFilter } from './filter.ts';
import type { Row } from './row.ts';

const now = Date.parse('2026-01-01T12:00:00Z');
const columns = ['Name', 'Status', 'Restarts', 'Age'].map((name) => ({ name, type: 'string' }));

const row = (name: string, parts: Partial<Row> = {}): Row => ({
  uid: name,
  namespace: 'shop',
  name,
  created: now - 600_000,
  deleting: false,
  labels: {},
  cells: [name, 'Running', 0, '10m'],
  ...parts,
});

const rows: readonly Row[] = [
  row('web-1', { labels: { app: 'web', tier: 'front' } }),
  row('web-2', {
    labels: { app: 'web' },
    cells: ['web-2', 'CrashLoopBackOff', '7 (2m ago)', '1d'],
  }),
  row('db-0', { labels: { app: 'db' }, namespace: 'data', created: now - 86_400_000 }),
  row('odd', {
    labels: { 'a.b/c': '' },
    cells: ['odd', 'Pending', null, '5s'],
    created: now - 5000,
  }),
];

const matching = (text: string): string[] => {
  const predicate = parseFilter(text, { columns, now });
  return rows.filter((each) => predicate?.(each) ?? true).map(({ name }) => name);
};

describe('parseFilter', () => {
  test.each([
    ['', ['web-1', 'web-2', 'db-0', 'odd']],
    ['web', ['web-1', 'web-2']],
    ['WEB crash', ['web-2']],
    ['data', ['db-0']],
    ['-web', ['db-0', 'odd']],
    ['"7 (2m"', ['web-2']],
    ['app=web', ['web-1', 'web-2']],
    ['app==web', ['web-1', 'web-2']],
    ['app!=web', ['db-0', 'odd']],
    ['app in (db, web) -tier=front', ['web-2', 'db-0']],
    ['app notin (web)', ['db-0', 'odd']],
    ['has:tier', ['web-1']],
    ['!app', ['odd']],
    ['a.b/c=', ['odd']],
    ['status:running', ['web-1', 'db-0']],
    ['status:"crashloop"', ['web-2']],
    ['namespace:data', ['db-0']],
    ['restarts>3', ['web-2']],
    ['restarts<=0', ['web-1', 'db-0']],
    ['age<1m', ['odd']],
    ['age>1h', ['db-0']],
    ['age>=1h30m', ['db-0']],
    ['unknown:thing', []],
    ['toString=x', []],
    ['!__proto__', ['web-1', 'web-2', 'db-0', 'odd']],
  ])('%s', (text, names) => {
    expect(matching(text)).toEqual(names);
  });

  test.each([
    ['app in (a', 'cannot read'],
    ['"open', 'quotation mark'],
    ['age<soon', 'is no duration'],
    ['restarts>many', 'is no number'],
    ['color>1', 'there is no column “color”'],
    ['x'.repeat(3000), 'too long'],
  ])('rejects %.20s', (text, message) => {
    expect(() => parseFilter(text, { columns, now })).toThrow(FilterError);
    expect(() => parseFilter(text, { columns, now })).toThrow(message);
  });

  test('the time grows linearly with a hostile filter', () => {
    expect(() => parseFilter(`${'a-'.repeat(900)}(`, { columns, now })).toThrow(FilterError);
  });
});
