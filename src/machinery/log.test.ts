import { describe, expect, test } from 'vitest';
import { VirtualClock } from './clock.ts';
import { createLogger, recordingLogger, silentLogger, type LoggerConfig } from './log.ts';

function lines(config: LoggerConfig) {
  const written: string[] = [];
  const logger = createLogger({
    clock: new VirtualClock(),
    ...config,
    destination: { write: (line) => written.push(line) },
  });
  return { logger, written };
}

function jsonOf(line: string | undefined): Record<string, unknown> {
  expect(line?.endsWith('\n')).toBe(true);
  return JSON.parse(line!) as Record<string, unknown>;
}

describe('text', () => {
  test('is one line: time, level, component, message, values', () => {
    const { logger, written } = lines({ format: 'text' });
    logger.with({ component: 'kubelet' }).info('Pod started', {
      pod: 'default/web',
      seconds: 1.5,
      labels: { a: 'b' },
      none: undefined,
    });
    expect(written).toEqual([
      '00:00:00.000 INFO  kubelet: Pod started pod=default/web seconds=1.5 labels={"a":"b"}\n',
    ]);
  });

  test('begins with the date if it is to be read later', () => {
    const { logger, written } = lines({ dated: true });
    logger.info('Pod started');
    expect(written).toEqual(['2026-01-01T00:00:00.000Z INFO  Pod started\n']);
  });

  test('shows an error with its causes', () => {
    const { logger, written } = lines({});
    const cause = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' });
    logger.error('cannot serve', { err: new Error('port 6443 is in use', { cause }) });
    logger.warn('odd', { err: 'no Error' });
    expect(written).toEqual([
      '00:00:00.000 ERROR cannot serve err="port 6443 is in use: listen EADDRINUSE"\n',
      '00:00:00.000 WARN  odd err="no Error"\n',
    ]);
  });

  test('shows the text of a cause once if the message has it already', () => {
    const { logger, written } = lines({});
    const cause = new Error('no such file', { cause: new Error('ENOENT') });
    logger.error('failed', { err: new Error('--config: no such file', { cause }) });
    expect(written).toEqual(['00:00:00.000 ERROR failed err="--config: no such file: ENOENT"\n']);
  });

  test('never writes a second line for one message', () => {
    const { logger, written } = lines({});
    logger.info('a\nb\u2028c', { value: 'x\n12:00:00 ERROR fake', 'empty value': '' });
    expect(written).toHaveLength(1);
    expect(written[0]?.match(/\n/g)).toHaveLength(1);
    expect(written[0]).toContain('a\\nb');
    expect(written[0]).toContain('empty value=""');
  });
});

describe('json', () => {
  test('is one object per line, with level, time and message', () => {
    const { logger, written } = lines({ format: 'json' });
    logger.with({ component: 'scheduler' }).with({ node: 'n1' }).warn('slow', { ms: 12 });
    expect(jsonOf(written[0])).toEqual({
      level: 'warn',
      time: '2026-01-01T00:00:00.000Z',
      component: 'scheduler',
      node: 'n1',
      ms: 12,
      message: 'slow',
    });
  });

  test('describes an error by message, causes, code and stack', () => {
    const { logger, written } = lines({ format: 'json' });
    const err = Object.assign(new TypeError('outer', { cause: new Error('inner') }), {
      code: 'E1',
    });
    logger.error('failed', { err });
    const { err: shown } = jsonOf(written[0]) as { err: Record<string, unknown> };
    expect(shown).toMatchObject({ type: 'TypeError', message: 'outer: inner', code: 'E1' });
    expect(shown.stack).toContain('log.test.ts');
  });

  test('accepts values that JSON cannot represent', () => {
    const { logger, written } = lines({ format: 'json' });
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    logger.info('odd', {
      big: 10n,
      call: () => 1,
      symbol: Symbol('s'),
      bytes: new Uint8Array(3),
      date: new Date(0),
      never: new Date(Number.NaN),
      map: new Map([['a', 1]]),
      set: new Set([1]),
      circle,
    });
    expect(jsonOf(written[0])).toMatchObject({
      big: '10',
      call: '[function]',
      symbol: 'Symbol(s)',
      bytes: '[3 bytes]',
      date: '1970-01-01T00:00:00.000Z',
      never: 'invalid date',
      map: { a: 1 },
      set: [1],
    });
    expect(written[0]).toContain('{…}');
  });
});

describe.each(['text', 'json'] as const)('%s', (format) => {
  test('never writes a secret, at any depth, whatever the key looks like', () => {
    const { logger, written } = lines({ format });
    logger.with({ token: 'S1' }).info('request', {
      password: 'S2',
      Authorization: 'Bearer S3',
      user: { 'client-key-data': 'S4', nested: [{ bearer_token: 'S5' }], name: 'admin' },
      map: new Map([['clientSecret', 'S6']]),
    });
    expect(written[0]).not.toMatch(/S[1-6]/);
    expect(written[0]).toContain('[redacted]');
    expect(written[0]).toContain('admin');
  });

  test('writes messages of its level or above', () => {
    const counts = (['error', 'warn', 'info', 'debug'] as const).map((level) => {
      const { logger, written } = lines({ format, level });
      const child = logger.with({ component: 'x' });
      child.error('e');
      child.warn('w');
      child.info('i');
      child.debug('d');
      return written.length;
    });
    expect(counts).toEqual([1, 2, 3, 4]);
  });

  test('writes info but not debug by default', () => {
    const { logger, written } = lines({ format });
    logger.info('shown');
    logger.debug('hidden');
    expect(written).toHaveLength(1);
  });
});

describe('for tests', () => {
  test('silentLogger writes nothing', () => {
    expect(silentLogger.with({ a: 1 })).toBe(silentLogger);
    silentLogger.error('unheard');
    silentLogger.warn('unheard');
    silentLogger.info('unheard');
    silentLogger.debug('unheard');
  });

  test('recordingLogger keeps level, message and values, including those of with()', () => {
    const logger = recordingLogger();
    const err = new Error('x');
    logger.with({ component: 'a' }).error('failed', { err, token: 't' });
    logger.debug('detail');
    expect(logger.records).toEqual([
      { level: 'error', message: 'failed', values: { component: 'a', err, token: '[redacted]' } },
      { level: 'debug', message: 'detail', values: {} },
    ]);
    expect(logger.records[0]?.values.err).toBe(err);
  });
});
