import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { RotatedFile, type RotatedFileConfig } from '#machinery/files/rotated-file.ts';
import { SeededRandom } from '#machinery/random.ts';
import { BufferedSink } from './buffered.ts';
import { AuditEvent } from './event.ts';
import { LogSink } from './log-sink.ts';
import { type AuditSink, ignoringFailures, truncating, union } from './sink.ts';
import { WebhookSink } from './webhook-sink.ts';

const event = (auditId: string, requestObject?: string): AuditEvent =>
  new AuditEvent({
    level: 'Request',
    auditId,
    stage: 'ResponseComplete',
    requestUri: '/api/v1/namespaces/team/pods',
    verb: 'create',
    user: { name: 'ann "a"', groups: ['devs', 'ops'] },
    impersonatedUser: undefined,
    impersonationConstraint: undefined,
    sourceIps: ['192.0.2.1'],
    userAgent: 'kubectl/1',
    objectRef: undefined,
    responseStatus: { code: 201 },
    requestObject,
    responseObject: undefined,
    receivedMs: 0,
    stageMs: 1,
    annotations: undefined,
  });

class Taken implements AuditSink {
  readonly batches: string[][] = [];
  stopped = false;
  ok = true;

  process(events: readonly AuditEvent[]): Promise<boolean> {
    this.batches.push(events.map(({ fields }) => fields.auditId));
    return Promise.resolve(this.ok);
  }

  stop(): Promise<void> {
    this.stopped = true;
    return Promise.resolve();
  }
}

const losses: string[] = [];
const lost = (plugin: string, error: unknown, count: number): void =>
  void losses.push(`${plugin}: ${count}: ${(error as Error).message}`);
beforeEach(() => void (losses.length = 0));

describe('batches', () => {
  const config = { bufferSize: 5, maxBatchSize: 3, maxBatchWaitMs: 1000 };

  test('are sent when they are complete, or have waited', async () => {
    const clock = new VirtualClock();
    const taken = new Taken();
    const sink = new BufferedSink(taken, config, clock, lost);
    await sink.process([event('1')]);
    await clock.advance(500);
    expect(taken.batches).toEqual([]);
    await sink.process([event('2'), event('3'), event('4')]);
    await clock.settle();
    expect(taken.batches).toEqual([['1', '2', '3']]);
    await clock.advance(1000);
    expect(taken.batches).toEqual([['1', '2', '3'], ['4']]);
    await sink.process([event('5')]);
    await sink.stop();
    expect(taken).toMatchObject({ stopped: true, batches: [['1', '2', '3'], ['4'], ['5']] });
  });

  test('are throttled; events without room are lost, and fail no request', async () => {
    const clock = new VirtualClock();
    const taken = new Taken();
    const throttle = { qps: 1, burst: 1 };
    const sink = new BufferedSink(taken, { ...config, throttle }, clock, lost);
    await sink.process([event('1'), event('2'), event('3')]);
    await clock.settle();
    await sink.process([event('4'), event('5'), event('6')]);
    await clock.advance(999);
    expect(taken.batches).toHaveLength(1);
    expect(await sink.process(Array.from({ length: 6 }, (_, n) => event(String(n))))).toBe(true);
    expect(losses).toEqual(['buffered: 1: audit buffer queue blocked']);
    await clock.advance(1);
    expect(taken.batches[1]).toEqual(['4', '5', '6']);
  });
});

test('events that are too long lose their objects, or are lost; long batches are divided', async () => {
  const taken = new Taken();
  const size = Buffer.byteLength(event('1').truncated().json());
  const sink = truncating(taken, { maxEventSize: size, maxBatchSize: 2 * size }, lost);
  expect(await sink.process([event('1'), event('2', `"${'x'.repeat(500)}"`), event('3')])).toBe(
    true,
  );
  expect(taken.batches).toEqual([['1', '2'], ['3']]);
  await sink.process([event('4'.repeat(200))]);
  expect(losses).toEqual(['truncate: 1: event is too large even after truncating']);
});

test('several sinks get all events; failures are ignored where they may be', async () => {
  const [one, other] = [new Taken(), new Taken()];
  other.ok = false;
  expect(await union([one, other]).process([event('1')])).toBe(false);
  expect(await union([one, ignoringFailures(other)]).process([event('2')])).toBe(true);
  expect(other.batches).toEqual([['1'], ['2']]);
});

test('a webhook gets lists of events, and is tried five times', async () => {
  const clock = new VirtualClock();
  const bodies: unknown[] = [];
  let failures = 2;
  const sink = new WebhookSink({
    post: (body) => {
      bodies.push(JSON.parse(body.toString('utf8')));
      return failures-- > 0 ? Promise.reject(new Error('code 503')) : Promise.resolve();
    },
    initialBackoffMs: 10_000,
    clock,
    random: new SeededRandom(1),
    lost,
  });
  const sent = sink.process([event('1'), event('2')]);
  await clock.advance(60_000);
  expect(await sent).toBe(true);
  expect(bodies).toHaveLength(3);
  expect(bodies[0]).toMatchObject({
    kind: 'EventList',
    items: [{ auditID: '1' }, { auditID: '2' }],
  });
  failures = 5;
  const never = sink.process([event('3')]);
  await clock.advance(600_000);
  expect(await never).toBe(false);
  expect(losses).toEqual(['webhook: 1: code 503']);
});

describe('the log', () => {
  let folder: string;
  let clock: VirtualClock;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'audit-'));
    clock = new VirtualClock({ start: Date.parse('2026-01-31T12:00:00Z') });
  });
  afterEach(() => rm(folder, { recursive: true }));

  const open = (config: Partial<RotatedFileConfig> = {}): Promise<RotatedFile> =>
    RotatedFile.open({
      path: join(folder, 'logs', 'audit.log'),
      maxSize: 40,
      maxBackups: 0,
      maxAgeMs: 0,
      compress: false,
      clock,
      logger: silentLogger,
      ...config,
    });

  test('has a line for each event', async () => {
    const sink = new LogSink(await open({ maxSize: 0 }), 'json', lost);
    const written = await Promise.all([
      sink.process([event('1'), event('2')]),
      sink.process([event('3')]),
    ]);
    await sink.stop();
    expect(written).toEqual([true, true]);
    const path = join(folder, 'logs', 'audit.log');
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { auditID: string }).auditID)).toEqual([
      '1',
      '2',
      '3',
    ]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('in the legacy format, too', () => {
    expect(event('1').legacyLine()).toBe(
      '1970-01-01T00:00:00.000Z AUDIT: id="1" stage="ResponseComplete" ip="192.0.2.1" method="create" ' +
        'user="ann \\"a\\"" groups="\\"devs\\",\\"ops\\"" as="<self>" asgroups="<lookup>" ' +
        'user-agent="kubectl/1" namespace="<none>" uri="/api/v1/namespaces/team/pods" response="201"',
    );
  });

  test('begins a new file when it is full, and keeps so many old ones, compressed', async () => {
    const file = await open({ maxBackups: 2, compress: true });
    await writeFile(join(folder, 'logs', 'audit-other.log'), '');
    for (const line of ['a', 'b', 'c', 'd']) {
      await file.write(`${line.repeat(30)}\n`);
      await clock.advance(1000);
    }
    await file.close();
    const names = (await readdir(join(folder, 'logs'))).toSorted();
    expect(names).toEqual([
      'audit-2026-01-31T12-00-02.000.log.gz',
      'audit-2026-01-31T12-00-03.000.log.gz',
      'audit-other.log',
      'audit.log',
    ]);
    const old = await readFile(join(folder, 'logs', names[1]!));
    expect(gunzipSync(old).toString('utf8')).toBe(`${'c'.repeat(30)}\n`);
  });

  test('removes old files by age', async () => {
    const file = await open({ maxAgeMs: 5000 });
    for (const line of ['a', 'b', 'c']) {
      await file.write(line.repeat(30));
      await clock.advance(4000);
    }
    await file.close();
    expect((await readdir(join(folder, 'logs'))).toSorted()).toEqual([
      'audit-2026-01-31T12-00-04.000.log',
      'audit-2026-01-31T12-00-08.000.log',
      'audit.log',
    ]);
  });

  test('overwrites no old file that began in the same millisecond', async () => {
    const file = await open();
    for (const line of ['a', 'b', 'c']) await file.write(line.repeat(30));
    await file.close();
    expect((await readdir(join(folder, 'logs'))).toSorted()).toEqual([
      'audit-2026-01-31T12-00-00.000.log',
      'audit-2026-01-31T12-00-00.001.log',
      'audit.log',
    ]);
  });

  test('reports what it cannot write', async () => {
    const output = {
      write: () => Promise.reject(new Error('no space')),
      close: () => Promise.resolve(),
    };
    const sink = new LogSink(output, 'json', lost);
    expect(await sink.process([event('1')])).toBe(false);
    expect(losses).toEqual(['log: 1: no space']);
  });
});
