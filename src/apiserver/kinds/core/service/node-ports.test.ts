import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { decodeFromStorage } from '#api/machinery/codec/index.ts';
import type { RangeAllocation } from '#api/groups/core/v1/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { Storage } from '#storage/interface.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { NODE_PORTS_KEY, NodePorts } from './node-ports.ts';
import { parsePortRange, PortBits } from './port-bits.ts';

const random = new SeededRandom('ports');

describe('a range of ports', () => {
  test('is written as two numbers, or one', () => {
    expect([parsePortRange('30000-32767'), parsePortRange('8080')]).toEqual([
      { first: 30_000, last: 32_767 },
      { first: 8080, last: 8080 },
    ]);
    for (const text of ['', '1-', '-1', '2-1', '0-10', '1-65536', '1-2-3', 'a-b', '1 - 2']) {
      expect(() => parsePortRange(text), text).toThrow(RangeError);
    }
  });

  test('is stored as in Kubernetes', () => {
    const ports = new PortBits({ first: 30_000, last: 32_767 }, [30_000, 30_009]);
    expect(ports.encode()).toEqual({
      range: '30000-32767',
      data: Buffer.from([2, 1]).toString('base64'),
    });
    expect([
      ...PortBits.decode('30000-32767', Buffer.from([2, 1]).toString('base64')).taken,
    ]).toEqual([30_000, 30_009]);
    expect(new PortBits({ first: 1, last: 9 }).encode().data).toBe('');
    const all = Array.from({ length: 2768 }, (_, index) => 30_000 + index).filter(
      () => random.int(3) === 0,
    );
    const { range, data } = new PortBits({ first: 30_000, last: 32_767 }, all).encode();
    expect([...PortBits.decode(range, data).taken]).toEqual(all);
  });

  test('allocates its upper part first, each port once', () => {
    const ports = new PortBits({ first: 101, last: 140 });
    const taken = Array.from({ length: 40 }, () => ports.takeAny(random)!);
    expect(taken.slice(0, 24).every((port) => port >= 117)).toBe(true);
    expect(new Set(taken).size).toBe(40);
    expect(ports.takeAny(random)).toBeUndefined();
    const small = new PortBits({ first: 1, last: 16 });
    expect(Array.from({ length: 16 }, () => small.takeAny(random))).not.toContain(undefined);
  });
});

describe('the shared state', () => {
  let storage: Storage;
  let writes: number;
  beforeEach(() => {
    const logger = recordingLogger();
    const memory = createMemoryStorage({ clock: new VirtualClock(), logger });
    writes = 0;
    storage = new Proxy(memory, {
      get(target, name: keyof Storage) {
        if (name === 'guaranteedUpdate') writes++;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  });
  afterEach(() => storage.close());
  const server = (range = '30000-30099'): NodePorts =>
    new NodePorts({ storage, logger: recordingLogger(), range: parsePortRange(range) });
  const takeAny = (ports: PortBits): number | undefined => ports.takeAny(random);

  test('allocates each port once, also between servers', async () => {
    const servers = [server(), server()] as const;
    const taken = await Promise.all(
      Array.from({ length: 50 }, () => servers.map((each) => each.change(takeAny))).flat(),
    );
    expect(new Set(taken).size).toBe(100);
    expect(taken).not.toContain(undefined);
    expect(await servers[0].change(takeAny)).toBeUndefined();
    await servers[1].release([30_007]);
    expect(await servers[0].change(takeAny)).toBe(30_007);
  });

  test('is written once for concurrent plans, and a failed plan allocates nothing', async () => {
    const ports = server();
    const take = (port: number) => (all: PortBits) => {
      if (!all.take(port)) throw new Error('taken');
      return port;
    };
    const outcomes = await Promise.allSettled([
      ports.change(take(30_001)),
      ports.change(take(30_001)),
      ports.change((all) => {
        take(30_002)(all);
        take(30_001)(all);
      }),
      ports.change(take(30_002)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    expect(writes).toBe(1);
    expect([...(await ports.read()).ports.taken]).toEqual([30_001, 30_002]);
    const kv = await storage.get(NODE_PORTS_KEY);
    expect(decodeFromStorage<RangeAllocation>(kv!.value, 1)).toMatchObject({
      kind: 'RangeAllocation',
      apiVersion: 'v1',
      range: '30000-30099',
    });
  });

  test('stays unchanged by a dry run', async () => {
    const ports = server();
    await ports.change((all) => all.take(30_003));
    expect(await ports.try((all) => [all.take(30_003), all.take(30_004)])).toEqual([false, true]);
    expect([...(await ports.read()).ports.taken]).toEqual([30_003]);
  });

  test('is replaced only if it is unchanged', async () => {
    const ports = server();
    await ports.change((all) => all.take(30_003));
    const seen = await ports.read();
    await server().change((all) => all.take(30_005));
    expect(await ports.replace(seen.revision, seen.ports)).toBe(false);
    const now = await ports.read();
    now.ports.release(30_003);
    expect(await ports.replace(now.revision, now.ports)).toBe(true);
    expect([...(await ports.read()).ports.taken]).toEqual([30_005]);
  });

  test('counts only ports in the current range', async () => {
    await server().change((all) => [30_003, 30_050].map((port) => all.take(port)));
    const other = server('30040-30060');
    expect([...(await other.read()).ports.taken]).toEqual([30_050]);
    expect(await other.change((all) => all.take(30_050))).toBe(false);
  });
});
