import { describe, expect, test } from 'vitest';
import { FakeServer } from '../../testing/fake-server.ts';
import { Api } from '../server/api.ts';
import type { WatchEvent } from '../lists/list-watch.ts';
import type { ResourceType } from '../server/resource-type.ts';
import { oldestRevision, readBase, Timeline } from './timeline.ts';

const pods: ResourceType = {
  group: '',
  version: 'v1',
  resource: 'pods',
  kind: 'Pod',
  namespaced: true,
  verbs: ['list', 'watch'],
  shortNames: [],
  categories: [],
  subresources: [],
};

const row = (name: string, status: string, revision: number): object => ({
  cells: [name, status],
  object: { metadata: { name, uid: name, resourceVersion: String(revision) } },
});

const event = (type: string, name: string, status: string, revision: number): WatchEvent =>
  ({ type, object: { rows: [row(name, status, revision)] } }) as WatchEvent;

const texts = (timeline: Timeline, count: number): string[] =>
  timeline.stateAfter(count).map(({ row: { name, cells } }) => `${name} ${cells[1]}`);

describe('Timeline', () => {
  test('a state is the first one and the changes until then, in the order of revisions', () => {
    const timeline = new Timeline();
    timeline.addBase('pods', { rows: [row('a', 'Pending', 1) as never] });
    timeline.addEvents('pods', [event('ADDED', 'b', 'Pending', 5), event('DELETED', 'a', '', 9)]);
    timeline.addEvents('pods', [event('MODIFIED', 'a', 'Running', 3)]);
    expect(timeline.changes.map(({ revision }) => revision)).toEqual([3, 5, 9]);
    expect(texts(timeline, 0)).toEqual(['a Pending']);
    expect(texts(timeline, 2)).toEqual(['a Running', 'b Pending']);
    expect(texts(timeline, 3)).toEqual(['b Pending']);
  });

  test('the number of changes is bounded: the oldest become part of the first state', () => {
    const timeline = new Timeline();
    timeline.addEvents(
      'pods',
      Array.from({ length: 20_100 }, (_, index) => event('MODIFIED', 'a', String(index), index)),
    );
    expect(timeline.changes).toHaveLength(20_000);
    expect(texts(timeline, 0)).toEqual(['a 99']);
  });
});

describe('reading the past', () => {
  const observer = {
    session: 0,
    sessionEnded: false,
    answered: () => undefined,
    unreachable: () => undefined,
  };
  const { signal } = new AbortController();

  test('the oldest revision is found by halving', async () => {
    const server = new FakeServer();
    for (let request = 0; request < 30; request++)
      server.next((url) =>
        Number(url.searchParams.get('resourceVersion')) < 431
          ? Response.json({ code: 410, reason: 'Expired' }, { status: 410 })
          : Response.json({ rows: [] }),
      );
    const api = new Api(server.fetch, observer);
    expect(await oldestRevision(api, pods, 'shop', 100_000, signal)).toBe(431);
    expect(server.requests.length).toBeLessThan(20);
    expect(server.requests[0]?.searchParams.get('resourceVersionMatch')).toBe('Exact');
  });

  test('all pages of the first state are read at the same revision', async () => {
    const server = new FakeServer();
    server.nextJson({ metadata: { continue: 'more' }, rows: [row('a', 'x', 1)] });
    server.nextJson({ metadata: {}, rows: [row('b', 'y', 2)] });
    const timeline = new Timeline();
    await readBase(new Api(server.fetch, observer), timeline, pods, 'shop', 7, signal);
    expect(texts(timeline, 0)).toEqual(['a x', 'b y']);
    expect(server.requests[1]?.searchParams.get('continue')).toBe('more');
    expect(server.requests[1]?.searchParams.has('resourceVersion')).toBe(false);
  });
});
