// Tests of failures, which the conformance suite cannot cause. A proxy between the engine and a
// real etcd loses requests or responses.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { type Storage, StorageError } from '../interface.ts';
import { Compactor } from './compactor.ts';
import { EtcdConnection, parseEndpoint } from './connection.ts';
import { type EtcdStorageConfig, openEtcdStorage } from './index.ts';
import { LeasePool } from './leases.ts';
import { ETCD_HINT, type EtcdProcess, hasEtcd, startEtcd } from './testing/etcd-process.ts';
import { LossyProxy } from './testing/lossy-proxy.ts';
import { hasProgressRequests } from './version.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined): string | undefined =>
  value && new TextDecoder().decode(value);

describe('endpoints', () => {
  test.each([
    ['10.0.0.1:2379', '10.0.0.1:2379', false],
    ['http://etcd', 'etcd:2379', false],
    ['https://etcd.example.com:443/', 'etcd.example.com:443', true],
    ['https://[fd00::1]:4001', '[fd00::1]:4001', true],
  ])('%s', (endpoint, address, secure) => {
    expect(parseEndpoint(endpoint)).toEqual({ address, secure });
  });

  test.each(['', 'ftp://etcd:1', 'https://', 'etcd:port', 'http://a/b', 'a b'])(
    'not %j',
    (endpoint) => {
      expect(() => parseEndpoint(endpoint)).toThrow(TypeError);
    },
  );
});

describe('versions of etcd with reliable progress', () => {
  test.each([
    ['3.4.23', false],
    ['3.4.31', true],
    ['3.5.12', false],
    ['3.5.13', true],
    ['3.6.0-rc.1', true],
    ['3.3.99', false],
  ])('%s: %s', (version, trusted) => {
    expect(hasProgressRequests(version)).toBe(trusted);
  });
});

describe.skipIf(!hasEtcd())(`etcd that fails (${ETCD_HINT})`, () => {
  let etcd: EtcdProcess;
  let prefixes = 0;
  const opened: { close(): unknown }[] = [];
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
  });

  const open = async (config: Partial<EtcdStorageConfig> = {}): Promise<Storage> => {
    const storage = await openEtcdStorage({
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      endpoints: [etcd.endpoint],
      prefix: `/failures-${++prefixes}`,
      logicalPrefix: '',
      compactionIntervalMs: 0,
      ...config,
    });
    opened.push(storage);
    return storage;
  };
  const proxied = async (): Promise<LossyProxy> => {
    const proxy = new LossyProxy(etcd.endpoint);
    opened.push(proxy);
    await proxy.listen();
    return proxy;
  };

  /** Writes of JSON are found by their marks, others by their slots. */
  const values = ['mine', '{"mine":true}'];

  test('a watch leaves a member that does not respond when calls do', async () => {
    const proxy = await proxied();
    const prefix = `/lost-answers-${++prefixes}`;
    const direct = await open({ prefix });
    const endpoints = [proxy.endpoint, etcd.endpoint];
    const storage = await open({ prefix, endpoints, attemptTimeoutMs: 300 });
    const watch = storage.watch('/p/', { progressIntervalMs: 60_000 });
    const keys: string[] = [];
    const followed = (async () => {
      for await (const event of watch) {
        if (event.type === 'put') keys.push(event.kv.key);
        if (keys.length === 2) break;
      }
    })();
    await storage.create('/p/before', bytes('0'));
    proxy.losesAnswers = true;
    await direct.create('/p/after', bytes('1'));
    const began = systemClock.monotonic();
    expect(text((await storage.get('/p/after'))?.value)).toBe('1');
    await followed;
    expect(keys).toEqual(['/p/before', '/p/after']);
    // The keepalives of the stream would notice it after ten seconds.
    expect(systemClock.monotonic() - began).toBeLessThan(8000);
  });

  test.each(values)('detects that %j was written although the response was lost', async (value) => {
    const proxy = await proxied();
    const prefix = `/lost-answers-${++prefixes}`;
    const direct = await open({ prefix });
    const endpoints = [proxy.endpoint, etcd.endpoint];
    const storage = await open({ prefix, endpoints, attemptTimeoutMs: 300 });
    await storage.create('/p/warm', bytes('0'));
    const before = await direct.currentRevision();
    proxy.losesAnswers = true;
    const created = await storage.create('/p/a', bytes(value));
    expect(created.modRevision).toBe(before + 1);
    // One write is the object's, and at most one the fence's: nothing was written twice.
    expect(await direct.get('/p/a')).toMatchObject({
      createRevision: created.modRevision,
      modRevision: created.modRevision,
    });
    expect(text((await direct.get('/p/a'))?.value)).toBe(value);
  });

  test.each(values)('a delayed write of %j never executes, and only then again', async (value) => {
    const proxy = await proxied();
    const prefix = `/held-up-${++prefixes}`;
    const direct = await open({ prefix });
    const endpoints = [proxy.endpoint, etcd.endpoint];
    const storage = await open({ prefix, endpoints, attemptTimeoutMs: 300 });
    await storage.create('/p/warm', bytes('0'));
    proxy.hold();
    const seen: (string | undefined)[] = [];
    const creating = storage.guaranteedUpdate('/p/a', (current) => {
      seen.push(text(current?.value));
      return { action: 'put', value: bytes(value) };
    });
    const { kv } = await creating;
    await direct.delete('/p/a');
    // The key is again as the first request expects it. The request still fails, because the fence
    // changed the slot.
    proxy.release();
    await direct.create('/p/after', bytes('1'));
    await systemClock.sleep(100);
    expect(await direct.get('/p/a')).toBeUndefined();
    expect(text(kv?.value)).toBe(value);
    expect(seen).toEqual([undefined]);
  });

  /** Creates an object without hearing of it, and resolves when it is there. */
  const createUnheard = async () => {
    const proxy = await proxied();
    const prefix = `/unheard-${++prefixes}`;
    const direct = await open({ prefix });
    const endpoints = [proxy.endpoint, etcd.endpoint];
    const storage = await open({ prefix, endpoints, attemptTimeoutMs: 500 });
    await storage.create('/p/warm', bytes('{}'));
    proxy.losesAnswers = true;
    const creating = storage
      .create('/p/a', bytes('{"mine":true}'))
      .catch((error: unknown) => error);
    await wait.poll({ clock: systemClock, intervalMs: 5, timeoutMs: 10_000 }, async () => {
      return (await direct.get('/p/a')) !== undefined;
    });
    return { direct, creating };
  };

  test('finds a write that was replaced and deleted since', async () => {
    const { direct, creating } = await createUnheard();
    const found = await direct.get('/p/a');
    await direct.guaranteedUpdate('/p/a', () => ({ action: 'put', value: bytes('{}') }));
    await direct.delete('/p/a');
    expect(await creating).toMatchObject({ key: '/p/a', modRevision: found?.modRevision });
    expect(await direct.get('/p/a')).toBeUndefined();
  });

  test('reports that the outcome is unknown if history is gone', async () => {
    const { direct, creating } = await createUnheard();
    const { revision } = await direct.delete('/p/a');
    await direct.compact(revision);
    expect(await creating).toMatchObject({
      reason: 'Unavailable',
      message: expect.stringContaining('the outcome of the write is unknown') as string,
    });
  });

  test('does not take the equal write of another process for its own', async () => {
    const proxy = await proxied();
    const prefix = '/equal';
    const direct = await open({ prefix });
    const endpoints = [proxy.endpoint, etcd.endpoint];
    const storage = await open({ prefix, endpoints, attemptTimeoutMs: 300 });
    await storage.create('/p/warm', bytes('{}'));
    proxy.hold();
    const creating = storage
      .create('/p/a', bytes('{"holder":""}'))
      .catch((error: unknown) => error);
    const other = await direct.create('/p/a', bytes('{"holder":""}'));
    expect(await creating).toMatchObject({ reason: 'KeyExists' });
    proxy.release();
    await direct.create('/p/after', bytes('1'));
    expect((await direct.get('/p/a'))?.modRevision).toBe(other.modRevision);
  });

  test('reports an outcome that it cannot determine, and is unhealthy', async () => {
    const lonely = await startEtcd();
    opened.push({ close: () => lonely.stop() });
    const storage = await open({
      endpoints: [lonely.endpoint],
      attemptTimeoutMs: 400,
      timeoutMs: 3000,
    });
    await storage.health();
    const held = await storage.create('/p/a', bytes('1'));
    await lonely.pause();
    await expect(storage.get('/p/a')).rejects.toMatchObject({ reason: 'Unavailable' });
    await expect(storage.health()).rejects.toBeInstanceOf(StorageError);
    lonely.signal('SIGCONT');
    expect((await storage.get('/p/a'))?.modRevision).toBe(held.modRevision);
    await storage.health();
  });

  test('resumes a watch after the member was killed', async () => {
    const member = await startEtcd();
    opened.push({ close: () => member.stop() });
    const storage = await open({ endpoints: [member.endpoint] });
    const begin = await storage.currentRevision();
    const stream = storage.watch('/p/', { afterRevision: begin });
    const events = stream[Symbol.asyncIterator]();
    await storage.create('/p/1', bytes('1'));
    expect((await events.next()).value).toMatchObject({ type: 'put', revision: begin + 1 });
    member.signal('SIGKILL');
    await member.restart();
    await storage.create('/p/2', bytes('2'));
    expect((await events.next()).value).toMatchObject({ type: 'put', kv: { key: '/p/2' } });
    stream.stop();
  });

  test('resumes watches from up to 100 revisions in the past or future when connections break', async () => {
    const proxy = await proxied();
    const prefix = '/reconnected';
    const direct = await open({ prefix });
    const storage = await open({ prefix, endpoints: [proxy.endpoint] });
    const write = async (count: number): Promise<number> => {
      for (let i = 0; i < count; i++) {
        await direct.guaranteedUpdate(`/p/${i % 7}`, () => ({
          action: 'put',
          value: bytes(String(i)),
        }));
      }
      return await direct.currentRevision();
    };
    await write(20);
    const compacted = await direct.currentRevision();
    await direct.compact(compacted);
    const now = await write(100);
    const last = now + 140;
    const follow = async (afterRevision: number): Promise<number[]> => {
      const received: number[] = [];
      for await (const event of storage.watch('/p/', { afterRevision })) {
        received.push(event.revision);
        if (event.revision === last) break;
      }
      return received;
    };
    const offsets = [-100, -99, -50, -1, 0, 1, 50, 99, 100];
    const follows = offsets.map((offset) => follow(now + offset));
    const tooOld = follow(compacted - 10).catch((error: unknown) => error);
    for (let round = 0; round < 7; round++) {
      await write(20);
      proxy.disconnect();
    }
    expect(await direct.currentRevision()).toBe(last);
    for (const [i, received] of (await Promise.all(follows)).entries()) {
      const first = now + (offsets[i] ?? 0) + 1;
      expect(received).toEqual(Array.from({ length: last - first + 1 }, (_, each) => first + each));
    }
    expect(await tooOld).toMatchObject({ reason: 'Expired' });
  });

  test('reassembles fragments of a watch response', async () => {
    const storage = await open();
    const begin = await storage.currentRevision();
    const value = new Uint8Array(1_000_000).fill(7);
    const revisions: number[] = [];
    for (let i = 0; i < 4; i++)
      revisions.push((await storage.create(`/p/${i}`, value)).modRevision);
    const stream = storage.watch('/p/', { afterRevision: begin });
    const received: number[] = [];
    for await (const event of stream) {
      received.push(event.revision);
      if (received.length === revisions.length) break;
    }
    expect(received).toEqual(revisions);
  });

  test('shares leases among keys with the same time to live', async () => {
    const connection = new EtcdConnection({
      clock: systemClock,
      logger: silentLogger,
      endpoints: [etcd.endpoint],
    });
    opened.push(connection);
    const pool = new LeasePool({
      connection,
      clock: systemClock,
      random: systemRandom,
      maxKeys: 3,
    });
    const leases = await Promise.all(Array.from({ length: 7 }, () => pool.leaseFor(3_600_000)));
    expect(new Set(leases).size).toBe(3);
    expect(await pool.leaseFor(60_000)).not.toBe(leases[6]);
    await pool.forget(3_600_000, leases[6]!);
    expect(await pool.leaseFor(3_600_000)).not.toBe(leases[6]);
  });

  test('is compacted by one of several servers, to the revision of one interval ago', async () => {
    const storage = await open();
    const config = { clock: systemClock, logger: silentLogger, intervalMs: 3_600_000 };
    const compactors = [0, 1].map(() => {
      const connection = new EtcdConnection({ ...config, endpoints: [etcd.endpoint] });
      opened.push(connection);
      const compactor = new Compactor({ ...config, connection });
      opened.push({ close: () => compactor.stop() });
      return compactor;
    });
    const rounds: number[] = [];
    const old = (await storage.create('/p/a', bytes('1'))).modRevision;
    for (let round = 0; round < 4; round++) {
      const done = await Promise.all(compactors.map((each) => each.tick()));
      rounds.push(done.filter(Boolean).length);
    }
    expect(rounds.every((count) => count <= 1)).toBe(true);
    expect(rounds.some((count) => count === 1)).toBe(true);
    await storage.guaranteedUpdate('/p/a', () => ({ action: 'put', value: bytes('2') }));
    await expect(storage.list('/p/', { revision: old - 1 })).rejects.toMatchObject({
      reason: 'Expired',
    });
  });

  test('reports the oldest readable revision although etcd is too slow to return it', async () => {
    let slow = false;
    // No request times out earlier than it should.
    const clock: Clock = {
      ...systemClock,
      setTimer: (delayMs, callback) =>
        systemClock.setTimer(slow && delayMs <= 2000 ? 0 : delayMs, callback),
    };
    const [storage, other] = await Promise.all([open({ clock }), open()]);
    const { modRevision: first } = await storage.create('/p/a', bytes('1'));
    const { modRevision: second } = await storage.create('/p/b', bytes('2'));
    const { modRevision: third } = await storage.create('/p/c', bytes('3'));
    await storage.compact(second);
    slow = true;
    await expect(storage.list('/p/', { revision: first })).rejects.toMatchObject({
      reason: 'Expired',
      revision: second,
    });
    // The engine has not seen the other client's compaction. An error without a revision is better
    // than one with a wrong revision.
    await other.compact(third);
    await expect(storage.list('/p/', { revision: second })).rejects.toMatchObject({
      reason: 'Expired',
      revision: undefined,
    });
    slow = false;
    const tries = Array.from({ length: 20 }, () => storage.list('/p/', { revision: second }));
    for (const tried of tries)
      await expect(tried).rejects.toMatchObject({ reason: 'Expired', revision: third });
  });

  test('stores objects under the keys where tools expect them', async () => {
    const storage = await open({ prefix: '/custom', logicalPrefix: '/registry' });
    await storage.create('/registry/pods/default/web', bytes('{}'));
    const raw = await open({ prefix: '', logicalPrefix: '' });
    expect((await raw.list('/custom/')).items.map(({ key }) => key)).toEqual([
      '/custom/pods/default/web',
    ]);
    expect((await storage.list('/registry/')).items.map(({ key }) => key)).toEqual([
      '/registry/pods/default/web',
    ]);
  });

  test('uses TLS with a client certificate', async ({ skip }) => {
    const dir = mkdtempSync(join(tmpdir(), 'coxswain-etcd-tls-'));
    opened.push({ close: () => rmSync(dir, { recursive: true, force: true }) });
    const file = (name: string): string => join(dir, name);
    const openssl = (...args: string[]): void =>
      void execFileSync('openssl', args, { stdio: 'ignore', cwd: dir });
    try {
      const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
      openssl(
        'req',
        '-x509',
        ...ec,
        '-keyout',
        'ca.key',
        '-out',
        'ca.crt',
        '-subj',
        '/CN=ca',
        '-days',
        '1',
      );
      openssl(
        'req',
        ...ec,
        '-keyout',
        'one.key',
        '-out',
        'one.csr',
        '-subj',
        '/CN=one',
        '-addext',
        'subjectAltName=IP:127.0.0.1',
      );
      openssl(
        ...(
          'x509 -req -in one.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out one.crt ' +
          '-days 1 -copy_extensions copy'
        ).split(' '),
      );
    } catch {
      return skip('there is no openssl here: apt-get install openssl');
    }
    const secure = await startEtcd({
      tls: { cert: file('one.crt'), key: file('one.key'), clientCa: file('ca.crt') },
    });
    opened.push({ close: () => secure.stop() });
    const read = (name: string): string => readFileSync(file(name), 'utf8');
    const tls = { ca: read('ca.crt'), cert: read('one.crt'), key: read('one.key') };
    const storage = await open({ endpoints: [secure.endpoint], tls });
    const warnings: Error[] = [];
    const warned = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warned);
    opened.push({ close: () => void process.off('warning', warned) });
    const watch = storage.watch('/p/');
    opened.push({ close: () => watch.stop() });
    await storage.create('/p/a', bytes('1'));
    expect((await watch[Symbol.asyncIterator]().next()).done).toBe(false);
    expect(warnings).toEqual([]);
    expect(await storage.count('/p/')).toBe(1);
    await expect(
      open({ endpoints: [secure.endpoint], tls: { ca: tls.ca }, timeoutMs: 300 }),
    ).rejects.toMatchObject({
      reason: 'Unavailable',
    });
  });
});
