import { afterEach, describe, expect, test } from 'vitest';
import { FakeServer, settle, TestClock } from '../../testing/fake-server.ts';
import { Api } from '../server/api.ts';
import { Connection } from '../server/connection.ts';
import { joinedTables, LiveTable, type TableSnapshot } from './live-table.ts';

const columnDefinitions = [
  { name: 'Name', type: 'string', format: 'name' },
  { name: 'Status', type: 'string' },
];

const tableRow = (name: string, status: string, version: string): unknown => ({
  cells: [name, status],
  object: { metadata: { name, namespace: 'a', uid: `uid-${name}`, resourceVersion: version } },
});

const table = (version: string, rows: readonly unknown[], more: object = {}): unknown => ({
  kind: 'Table',
  metadata: { resourceVersion: version, ...more },
  columnDefinitions,
  rows,
});

const event = (type: string, name: string, status: string, version: string): unknown => ({
  type,
  object: { kind: 'Table', columnDefinitions: null, rows: [tableRow(name, status, version)] },
});

const closing: LiveTable[] = [];
afterEach(() => {
  for (const each of closing.splice(0)) each.close();
});

function follow(server: FakeServer): { live: LiveTable; clock: TestClock; connection: Connection } {
  const clock = new TestClock();
  const connection = new Connection(clock, async () => {
    await api.request('/console/session').catch(() => undefined);
  });
  const api = new Api(server.fetch, connection);
  const live = new LiveTable({
    api,
    clock,
    whenOnline: (signal) => connection.whenOnline(signal),
    path: '/api/v1/pods',
  });
  closing.push(live);
  return { live, clock, connection };
}

const shown = (live: LiveTable): string[] =>
  live.snapshot.get().rows.map(({ name, cells }) => `${name} ${cells[1]}`);

describe('LiveTable', () => {
  test('lists in pages and follows the watch', async () => {
    const server = new FakeServer();
    server.nextJson(table('10', [tableRow('a', 'Running', '1')], { continue: 'next' }));
    server.nextJson(table('10', [tableRow('b', 'Running', '2')]));
    const { live, clock } = follow(server);
    await clock.advance(200);
    expect(shown(live)).toEqual(['a Running', 'b Running']);
    expect(live.snapshot.get().state).toEqual({ kind: 'live' });
    expect(server.requests[1]?.searchParams.get('continue')).toBe('next');
    expect(server.watches[0]?.url.searchParams.get('resourceVersion')).toBe('10');

    server.watches[0]?.send(
      event('MODIFIED', 'a', 'Failed', '11'),
      event('DELETED', 'b', 'Running', '12'),
      event('ADDED', 'c', 'Pending', '13'),
    );
    await clock.advance(200);
    expect(shown(live)).toEqual(['a Failed', 'c Pending']);
  });

  test('a watch that ends continues from the last version, that of a bookmark', async () => {
    const server = new FakeServer();
    server.nextJson(table('10', []));
    const { clock } = follow(server);
    await clock.advance(1000);
    server.watches[0]?.send({
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion: '50' }, rows: [{ cells: [] }] },
    });
    await clock.advance(1000);
    server.watches[0]?.end();
    await clock.advance(1000);
    expect(server.watches[1]?.url.searchParams.get('resourceVersion')).toBe('50');
  });

  test('an expired version leads to a new list, and rows that are gone disappear', async () => {
    const server = new FakeServer();
    server.nextJson(table('10', [tableRow('a', 'Running', '1'), tableRow('b', 'Running', '2')]));
    const { live, clock } = follow(server);
    await clock.advance(1000);
    server.nextJson(table('90', [tableRow('b', 'Failed', '80')]));
    server.watches[0]?.send({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
    await clock.advance(1000);
    expect(shown(live)).toEqual(['b Failed']);
    expect(server.watches[1]?.url.searchParams.get('resourceVersion')).toBe('90');
  });

  test('while the server is away rows stay, and the watch continues when it is back', async () => {
    const server = new FakeServer();
    server.nextJson(table('10', [tableRow('a', 'Running', '1')]));
    const { live, clock, connection } = follow(server);
    await clock.advance(1000);
    const fail = (): never => {
      throw new TypeError('Failed to fetch');
    };
    for (let attempt = 0; attempt < 4; attempt++) server.next(fail);
    server.watches[0]?.fail();
    await clock.advance(3000);
    expect(connection.state.get().kind).toBe('offline');
    expect(live.snapshot.get().state.kind).toBe('retrying');
    expect(shown(live)).toEqual(['a Running']);

    server.nextJson({ user: 'a' });
    await clock.advance(20_000);
    expect(connection.state.get()).toEqual({ kind: 'online' });
    expect(server.watches.at(-1)?.url.searchParams.get('resourceVersion')).toBe('10');
    expect(live.snapshot.get().state).toEqual({ kind: 'live' });
  });

  test('an ended session waits for the next one', async () => {
    const server = new FakeServer();
    server.nextJson({ kind: 'Status', code: 401, message: 'Unauthorized' }, 401);
    const { live, clock, connection } = follow(server);
    await clock.advance(60_000);
    expect(connection.state.get()).toEqual({ kind: 'signed-out', expired: false });
    expect(server.requests).toHaveLength(1);
    server.nextJson(table('10', [tableRow('a', 'Running', '1')]));
    connection.signedIn();
    await clock.advance(1000);
    expect(shown(live)).toEqual(['a Running']);
  });

  test('what the user may not list is said, and not tried again', async () => {
    const server = new FakeServer();
    server.nextJson({ kind: 'Status', code: 403, message: 'pods is forbidden' }, 403);
    const { live, clock } = follow(server);
    await clock.advance(60_000);
    expect(live.snapshot.get().state).toEqual({
      kind: 'failed',
      reason: 'forbidden',
      message: 'pods is forbidden',
    });
    expect(server.requests).toHaveLength(1);
  });

  test('a server that answers with errors is asked less and less often', async () => {
    const server = new FakeServer();
    for (let attempt = 0; attempt < 50; attempt++)
      server.next(() => new Response('<h1>broken</h1>', { status: 500 }));
    const { live, clock } = follow(server);
    await clock.advance(60_000);
    expect(server.requests.length).toBeLessThan(12);
    expect(live.snapshot.get().state).toEqual({ kind: 'retrying', message: '<h1>broken</h1>' });
  });

  test('a filter that cannot be read leaves the last one in force', async () => {
    const server = new FakeServer();
    server.nextJson(table('10', [tableRow('a', 'Running', '1'), tableRow('b', 'Failed', '2')]));
    const { live, clock } = follow(server);
    await clock.advance(200);
    live.setFilter('status:failed');
    live.setFilter('status:failed "');
    expect(shown(live)).toEqual(['b Failed']);
    expect(live.snapshot.get().filterError).toMatch(/quotation mark/);
    live.setFilter('');
    expect(live.snapshot.get()).toMatchObject({ total: 2, filterError: undefined });
  });

  test('a closed table sends nothing more', async () => {
    const server = new FakeServer();
    server.nextJson(table('10', []));
    const { live, clock } = follow(server);
    await clock.advance(1000);
    live.close();
    await settle();
    await clock.advance(60_000);
    expect(server.requests).toHaveLength(2);
  });
});

test('tables of the same kind are joined, with the worst of their states', () => {
  const table = (names: readonly string[], state: TableSnapshot['state']): TableSnapshot => ({
    columns: [{ name: 'Name', type: 'string' }],
    rows: names.map((name) => ({
      uid: name,
      namespace: '',
      name,
      created: 0,
      deleting: false,
      labels: {},
      cells: [name],
    })),
    total: names.length,
    state,
  });
  const joined = joinedTables([
    table(['a'], { kind: 'live' }),
    table([], { kind: 'retrying', message: 'away' }),
    table(['b', 'c'], { kind: 'loading' }),
  ]);
  expect(joined.rows.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  expect(joined).toMatchObject({ total: 3, state: { kind: 'retrying' } });
  expect(joined.columns).toHaveLength(1);
  expect(joinedTables([])).toMatchObject({ total: 0, state: { kind: 'live' } });
});
