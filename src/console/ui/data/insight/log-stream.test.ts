import { afterEach, describe, expect, test } from 'vitest';
import { FakeServer, TestClock } from '../../testing/fake-server.ts';
import { Api } from '../server/api.ts';
import { type LogLine, LogStream, mergeLines } from './log-stream.ts';

const source = (pod: string): LogLine['source'] => ({ namespace: 'a', pod, container: 'c' });

const closing: LogStream[] = [];
afterEach(() => {
  for (const each of closing.splice(0)) each.close();
});

function logs(server: FakeServer): { stream: LogStream; clock: TestClock } {
  const clock = new TestClock();
  const api = new Api(server.fetch, {
    session: 0,
    sessionEnded: false,
    answered: () => undefined,
    unreachable: () => undefined,
  });
  const stream = new LogStream({
    api,
    clock,
    whenOnline: async () => undefined,
    options: { tailLines: 10, previous: false, follow: true },
  });
  closing.push(stream);
  return { stream, clock };
}

const texts = (stream: LogStream): string[] =>
  stream.snapshot.get().lines.map(({ text, source: { pod } }) => `${pod} ${text}`);

describe('LogStream', () => {
  test('lines of several pods are in the order of their times', async () => {
    const server = new FakeServer();
    server.next(() => new Response('2026-01-01T00:00:01.1Z one\n2026-01-01T00:00:03.1Z three\n'));
    server.next(() => new Response('2026-01-01T00:00:02.1Z two <b>\n'));
    const { stream, clock } = logs(server);
    stream.setSources([source('x'), source('y')]);
    await clock.advance(150);
    expect(texts(stream)).toEqual(['x one', 'y two <b>', 'x three']);
  });

  test('a log that ends continues after its last line, without repeating lines', async () => {
    const server = new FakeServer();
    server.next(() => new Response('2026-01-01T00:00:01.1Z one\n2026-01-01T00:00:01.2Z two\n'));
    server.next(
      () =>
        new Response(
          '2026-01-01T00:00:01.1Z one\n2026-01-01T00:00:01.2Z two\n2026-01-01T00:00:01.3Z three\n',
        ),
    );
    const { stream, clock } = logs(server);
    stream.setSources([source('x')]);
    await clock.advance(2500);
    expect(server.requests[1]?.searchParams.get('sinceTime')).toBe('2026-01-01T00:00:01Z');
    expect(texts(stream)).toEqual(['x one', 'x two', 'x three']);
  });

  test('a container without a log is named, and asked again', async () => {
    const server = new FakeServer();
    server.nextJson({ kind: 'Status', message: 'container "c" is waiting to start' }, 400);
    server.next(() => new Response('2026-01-01T00:00:01.1Z one\n'));
    const { stream, clock } = logs(server);
    stream.setSources([source('x')]);
    await clock.advance(500);
    expect([...stream.snapshot.get().problems]).toEqual([
      ['x/c', 'container "c" is waiting to start'],
    ]);
    await clock.advance(2000);
    expect(stream.snapshot.get().problems.size).toBe(0);
    expect(texts(stream)).toEqual(['x one']);
  });

  test('a container that is no longer chosen is not followed', async () => {
    const server = new FakeServer();
    server.next(() => new Response('2026-01-01T00:00:01.1Z one\n'));
    const { stream, clock } = logs(server);
    stream.setSources([source('x')]);
    await clock.advance(500);
    stream.setSources([]);
    await clock.advance(60_000);
    expect(server.requests).toHaveLength(1);
  });
});

test('mergeLines sorts only lines that overlap', () => {
  const line = (id: number, time: string): LogLine => ({ id, time, text: '', source: source('x') });
  const merged = mergeLines(
    [line(0, '1'), line(1, '3'), line(2, '5')],
    [line(4, '4'), line(3, '6')],
  );
  expect(merged.map(({ id }) => id)).toEqual([0, 1, 4, 2, 3]);
});
