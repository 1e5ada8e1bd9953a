// Encryption at rest on etcd: the storage contract, and the bytes that etcd stores.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { type HarnessOptions, storageConformance } from '../conformance.ts';
import { openEtcdStorage } from '../etcd/index.ts';
import { ETCD_HINT, type EtcdProcess, hasEtcd, startEtcd } from '../etcd/testing/etcd-process.ts';
import type { KeyValue, Storage, StorageEvent } from '../interface.ts';
import { encryptedBy } from './testing/encrypted.ts';

/** A minute of the suite is a second of etcd, whose shortest lease is one second. */
const TIME_SCALE = 60;

const keyOf = (name: string, letter: string): object => ({
  name,
  secret: Buffer.from(letter.repeat(32)).toString('base64'),
});
const gcm = (...keys: object[]): object => ({ aesgcm: { keys } });
const [one, two] = [keyOf('one', '1'), keyOf('two', '2')];
const identity = { identity: {} };

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (kv: KeyValue | undefined): string => Buffer.from(kv?.value ?? []).toString('latin1');

if (!hasEtcd()) {
  describe('encryption in front of etcd', () => {
    test.skip(ETCD_HINT);
  });
} else {
  let etcd: EtcdProcess;
  let prefixes = 0;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());

  /** One etcd serves all tests, one after the other. Each test has its own prefix. */
  const newPrefix = (): string => `/test-${++prefixes}`;
  const plain = (prefix: string, options: HarnessOptions = {}): Promise<Storage> =>
    openEtcdStorage({
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      endpoints: [etcd.endpoint],
      prefix,
      logicalPrefix: '',
      compactionIntervalMs: 0,
      ...options,
    });
  /** Opens a server's storage with these providers. */
  const encrypted = async (
    prefix: string,
    providers: readonly object[],
    options: HarnessOptions = {},
  ): Promise<Storage> =>
    encryptedBy(await plain(prefix, options), providers, { group: '', resource: 'secrets' });

  storageConformance('etcd, encrypted with aesgcm', async (options) => {
    const prefix = newPrefix();
    const open = (): Promise<Storage> => encrypted(prefix, [gcm(one), identity], options);
    let storage = await open();
    return {
      storage,
      timeScale: TIME_SCALE,
      scans: true,
      advance: (ms) => systemClock.sleep(ms / TIME_SCALE),
      reopen: async () => {
        await storage.close();
        storage = await open();
        return storage;
      },
      dispose: () => storage.close(),
    };
  });

  describe('keys are rotated through etcd', () => {
    const KEYS = ['/secrets/ns/a', '/secrets/ns/b', '/secrets/ns/c'];
    const keep = (): { action: 'keep' } => ({ action: 'keep' });

    test('server by server; each one reads what any other has written', async () => {
      const prefix = newPrefix();
      const stored = await plain(prefix);
      const opened: Storage[] = [stored];
      const server = async (...providers: object[]): Promise<Storage> => {
        const storage = await encrypted(prefix, providers);
        opened.push(storage);
        return storage;
      };
      try {
        for (const key of KEYS)
          await (await server(identity)).create(key, bytes(`value of ${key}`));
        // The order of steps that Kubernetes documents: every server can read with the new key;
        // then the servers write with it; then all values are written again; then the old key is
        // removed.
        const steps: [first: object[], second: object[], writesWith: string][] = [
          [[gcm(one), identity], [identity, gcm(one)], 'k8s:enc:aesgcm:v1:one:'],
          [[gcm(two, one)], [gcm(one, two)], 'k8s:enc:aesgcm:v1:two:'],
        ];
        for (const [first, second, mark] of steps) {
          const [ahead, behind] = [await server(...first), await server(...second)];
          const from = await stored.currentRevision();
          const watch = behind.watch('/secrets/', { afterRevision: from });
          for (const key of KEYS) {
            const before = await ahead.get(key);
            const { revision } = await ahead.guaranteedUpdate(key, keep);
            expect(revision).toBeGreaterThan(before?.modRevision ?? 0);
            // The value was written again already, so nothing is left to do.
            expect((await ahead.guaranteedUpdate(key, keep)).revision).toBe(revision);
            expect(text(await stored.get(key)).startsWith(mark)).toBe(true);
            expect(text(await stored.get(key))).not.toContain('value of');
          }
          expect((await behind.list('/secrets/')).items.map(text)).toEqual(
            KEYS.map((key) => `value of ${key}`),
          );
          const received: StorageEvent[] = [];
          for await (const event of watch) if (received.push(event) === KEYS.length) break;
          expect(
            received.map((event) => event.type === 'put' && [text(event.kv), text(event.previous)]),
          ).toEqual(KEYS.map((key) => [`value of ${key}`, `value of ${key}`]));
        }
        const last = await server(gcm(two));
        expect((await last.list('/secrets/')).items.map(text)).toEqual(
          KEYS.map((key) => `value of ${key}`),
        );
        await expect((await server(gcm(one))).get(KEYS[0]!)).rejects.toMatchObject({
          reason: 'Corrupt',
        });
      } finally {
        for (const storage of opened) await storage.close();
      }
    });

    test('concurrent updates of two servers with different keys are both made, one after the other', async () => {
      const prefix = newPrefix();
      const [a, b] = [
        await encrypted(prefix, [gcm(one, two)]),
        await encrypted(prefix, [gcm(two, one)]),
      ];
      const more = (current: KeyValue | undefined) => ({
        action: 'put' as const,
        value: bytes(String(Number(text(current)) + 1)),
      });
      try {
        await Promise.all(
          [a, b, a, b, a, b].map((each) => each.guaranteedUpdate('/secrets/ns/n', more)),
        );
        expect(text(await a.get('/secrets/ns/n'))).toBe('6');
        expect(text(await b.get('/secrets/ns/n'))).toBe('6');
      } finally {
        await Promise.all([a.close(), b.close()]);
      }
    });
  });
}
