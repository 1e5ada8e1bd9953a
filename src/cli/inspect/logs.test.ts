import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { componentNamed, LogFilter, LogLines, parseLine } from './log-lines.ts';
import { copyLog } from './logs.ts';

const LINES = [
  'cluster ready in 1.00 s',
  '2026-03-01T12:00:00.000Z WARN  kubelet: container not started pod=default/a',
  '2026-03-01T12:00:01.000Z ERROR scheduler: it broke err="x"',
  '    at file.ts:1',
  '2026-03-01T12:00:02.000Z WARN  no component at all: really',
  '{"level":"warn","time":"2026-03-01T12:00:03.000Z","component":"kubelet","message":"json"}',
  'time="2026-03-01T12:00:04.000000000Z" level=info msg="starting containerd"',
  '12:00:05.000 WARN  kubelet: of an earlier version, without a date',
];

const filtered = (config: ConstructorParameters<typeof LogFilter>[0]) => {
  const filter = new LogFilter(config);
  return LINES.filter((line) => filter.accepts(line));
};

describe('lines', () => {
  test('that the logger writes are read as they were written', () => {
    const clock = new VirtualClock();
    for (const format of ['text', 'json'] as const) {
      const written: string[] = [];
      createLogger({ clock, format, dated: true, destination: { write: (x) => written.push(x) } })
        .with({ component: 'kube-proxy' })
        .warn('a: b\nc');
      expect(written).toHaveLength(1);
      expect(parseLine(written[0] ?? '')).toEqual({ time: clock.now(), component: 'kube-proxy' });
    }
  });

  test('of a component, with those that belong to them', () => {
    expect(filtered({ component: 'scheduler' })).toEqual(LINES.slice(2, 4));
    expect(filtered({ component: 'kubelet' })).toEqual([LINES[1], LINES[5], LINES[7]]);
    expect(filtered({ component: 'cox' })).toEqual([LINES[0], LINES[4]]);
    expect(filtered({})).toEqual(LINES);
  });

  test('are values with --output json; a line of a stack has the time of the one before', () => {
    const lines = new LogLines();
    expect(LINES.slice(0, 4).map((line) => lines.describe(line))).toEqual([
      { component: 'cox', line: LINES[0] },
      { time: '2026-03-01T12:00:00.000Z', component: 'kubelet', line: LINES[1] },
      { time: '2026-03-01T12:00:01.000Z', component: 'scheduler', line: LINES[2] },
      { time: '2026-03-01T12:00:01.000Z', component: 'scheduler', line: LINES[3] },
    ]);
  });

  test('since a time; those without a date are older', () => {
    const since = Date.parse('2026-03-01T12:00:01.000Z');
    expect(filtered({ since })).toEqual(LINES.slice(2, 7));
    expect(filtered({ since: since + 60_000 })).toEqual([]);
  });

  test('of anything do not break it', () => {
    for (const line of ['{', '{"component":1}', 'time="', '', '\x1b[2J', '{"time":"x"}'])
      expect(() => parseLine(line)).not.toThrow();
    expect(parseLine('{"component":1,"time":"x"}')).toEqual({ component: 'cox' });
  });

  test('components have the names of upstream, too', () => {
    expect(componentNamed('kube-scheduler')).toBe('scheduler');
    expect(componentNamed('kubelet')).toBe('kubelet');
    expect(componentNamed('../../etc/passwd')).toBeUndefined();
    expect(componentNamed('constructor')).toBeUndefined();
  });
});

/** A file in memory that can grow. */
function fakeFile(text: string) {
  let content = Buffer.from(text);
  return {
    append: (more: string): void => void (content = Buffer.concat([content, Buffer.from(more)])),
    truncate: (): void => void (content = Buffer.alloc(0)),
    stat: () => Promise.resolve({ size: content.length }),
    read: (buffer: Buffer, offset: number, length: number, position: number) =>
      Promise.resolve({
        bytesRead: content.subarray(position, position + length).copy(buffer, offset),
        buffer,
      }),
  };
}

describe('a log', () => {
  const copy = async (text: string, tail?: number): Promise<string[]> => {
    const written: string[] = [];
    await copyLog({
      handle: fakeFile(text) as never,
      filter: new LogFilter({}),
      write: (line) => void written.push(line),
      clock: new VirtualClock(),
      ...(tail !== undefined && { tail }),
    });
    return written;
  };

  test('is written whole, whatever its size and its last line', async () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i} ü`);
    expect(await copy(lines.join('\n'))).toEqual(lines);
    expect(await copy('')).toEqual([]);
    expect(await copy('a\nb\n')).toEqual(['a', 'b']);
  });

  test('to its last lines', async () => {
    const lines = Array.from({ length: 5000 }, (_, i) => `line ${i}`);
    expect(await copy(`${lines.join('\n')}\n`, 3)).toEqual(lines.slice(-3));
    expect(await copy('a\nb\n', 0)).toEqual([]);
    expect(await copy('a\nb\n', 10)).toEqual(['a', 'b']);
  });

  test('is followed until the cluster has ended, with what it wrote last', async () => {
    const clock = new VirtualClock();
    const file = fakeFile('old\nfirst\n');
    const written: string[] = [];
    let running = true;
    const copied = copyLog({
      handle: file as never,
      filter: new LogFilter({}),
      write: (line) => void written.push(line),
      clock,
      tail: 1,
      follow: { signal: new AbortController().signal, running: () => running },
    });
    await clock.advance(1000);
    expect(written).toEqual(['first']);
    file.append('second\nthi');
    await clock.advance(1000);
    expect(written).toEqual(['first', 'second']);
    // The log is rotated.
    file.append('rd\n');
    await clock.advance(1000);
    file.truncate();
    file.append('fourth');
    running = false;
    await clock.advance(1000);
    await copied;
    expect(written).toEqual(['first', 'second', 'third', 'fourth']);
  });

  test('ends when the signal aborts', async () => {
    const clock = new VirtualClock();
    const stop = new AbortController();
    const copied = copyLog({
      handle: fakeFile('a\n') as never,
      filter: new LogFilter({}),
      write: () => undefined,
      clock,
      follow: { signal: stop.signal, running: () => true },
    });
    await clock.advance(1000);
    stop.abort();
    await copied;
  });
});
