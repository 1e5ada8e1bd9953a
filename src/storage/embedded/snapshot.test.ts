import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import type { Storage } from '../interface.ts';
import { StorageError } from '../interface.ts';
import { openEmbeddedStorage } from './index.ts';
import { restoreSnapshot, saveSnapshot, snapshotStatus } from './snapshot.ts';

describe('snapshots', () => {
  let dir: string;
  let storage: Storage | undefined;
  const clock = new VirtualClock();
  const config = { clock, logger: silentLogger };
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'snapshot-'));
  });
  afterEach(async () => {
    await storage?.close();
    storage = undefined;
    await rm(dir, { recursive: true, force: true });
  });

  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const state = async (from: Storage): Promise<unknown[]> =>
    (await from.list('/a/')).items.map((kv) => [
      kv.key,
      Buffer.from(kv.value).toString(),
      kv.createRevision,
      kv.modRevision,
    ]);
  const refused = async (promise: Promise<unknown>): Promise<StorageError> => {
    const error = await promise.catch((error_: unknown) => error_);
    if (!(error instanceof StorageError)) throw new Error(`not refused: ${String(error)}`);
    return error;
  };

  /** A store with 30 keys, some updated, some deleted, one that expires. */
  async function fill(): Promise<Storage> {
    storage = await openEmbeddedStorage({ ...config, dataDir: join(dir, 'store') });
    for (let i = 0; i < 30; i++) await storage.create(`/a/${i}`, bytes(`value ${i}`));
    for (let i = 0; i < 30; i += 3)
      await storage.guaranteedUpdate(`/a/${i}`, () => ({
        action: 'put',
        value: bytes(`new ${i}`),
      }));
    for (let i = 0; i < 30; i += 7) await storage.delete(`/a/${i}`);
    await storage.create('/a/short', bytes('x'), { ttlMs: 60_000 });
    return storage;
  }

  test('are taken while writers run, of one moment, and restored', async () => {
    const running = await fill();
    const file = join(dir, 'file.snap');
    const stop = new AbortController();
    // Two keys always change in this order: a snapshot that mixed moments would have the second ahead of the first.
    const writer = (async () => {
      for (let i = 0; !stop.signal.aborted; i++) {
        for (const key of ['/b/first', '/b/second']) {
          await running.guaranteedUpdate(key, () => ({ action: 'put', value: bytes(String(i)) }));
        }
      }
    })();
    const expected = await state(running);
    const status = await saveSnapshot({ ...config, dataDir: join(dir, 'store'), file });
    stop.abort();
    await writer;
    expect(await snapshotStatus(file)).toEqual(status);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await restoreSnapshot({ file, dataDir: join(dir, 'restored'), bumpRevision: 0 });
    const restored = await openEmbeddedStorage({ ...config, dataDir: join(dir, 'restored') });
    try {
      expect(await restored.currentRevision()).toBe(status.revision);
      expect(await state(restored)).toEqual(expected);
      const [first, second] = (await restored.list('/b/')).items.map((kv) =>
        Number(Buffer.from(kv.value).toString()),
      );
      if (first !== undefined) expect([first, first - 1]).toContain(second ?? first - 1);
      // Nothing from before can be read, everything after can.
      expect((await refused(restored.list('/a/', { revision: status.revision - 1 }))).reason).toBe(
        'Expired',
      );
      expect((await restored.create('/a/new', bytes('1'))).modRevision).toBe(status.revision + 1);
      await restored.compact(status.revision + 1);
      await clock.advance(61_000);
      await expect.poll(() => restored.get('/a/short')).toBeUndefined();
    } finally {
      await restored.close();
    }
    // What compaction did to the restored rows is counted right.
    const again = await openEmbeddedStorage({ ...config, dataDir: join(dir, 'restored') });
    expect(await again.get('/a/new')).toBeDefined();
    await again.close();
  });

  test('are taken of a store that nobody uses, and restored to a later revision', async () => {
    const running = await fill();
    const expected = await state(running);
    await running.close();
    const file = join(dir, 'file.snap');
    const status = await saveSnapshot({ ...config, dataDir: join(dir, 'store'), file });
    await restoreSnapshot({ file, dataDir: join(dir, 'restored'), bumpRevision: 1000 });
    storage = await openEmbeddedStorage({ ...config, dataDir: join(dir, 'restored') });
    expect(await state(storage)).toEqual(expected);
    expect(await storage.currentRevision()).toBe(status.revision + 1000);
    expect((await storage.create('/a/new', bytes('1'))).modRevision).toBe(status.revision + 1001);
    await storage.close();
    storage = await openEmbeddedStorage({ ...config, dataDir: join(dir, 'restored') });
    expect(await storage.count('/a/')).toBe(expected.length + 1);
  });

  test('are refused with any byte changed, or any of them missing, and leave nothing behind', async () => {
    await (await fill()).close();
    const file = join(dir, 'file.snap');
    await saveSnapshot({ ...config, dataDir: join(dir, 'store'), file });
    const whole = await readFile(file);
    const damaged = join(dir, 'damaged.snap');
    for (let at = 0; at < whole.length; at += 7) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ 0x10;
      await writeFile(damaged, changed);
      expect(await refused(snapshotStatus(damaged))).toMatchObject({ reason: 'Corrupt' });
      await writeFile(damaged, whole.subarray(0, at));
      expect(await refused(snapshotStatus(damaged))).toMatchObject({ reason: 'Corrupt' });
    }
    const error = await refused(
      restoreSnapshot({ file: damaged, dataDir: join(dir, 'restored'), bumpRevision: 0 }),
    );
    expect(error.message).toContain(damaged);
    expect((await readdir(dir)).sort()).toEqual(['damaged.snap', 'file.snap', 'store']);
  });

  test('say that there is no store', async () => {
    const error = await refused(
      saveSnapshot({ ...config, dataDir: join(dir, 'none'), file: join(dir, 'x') }),
    );
    expect(error.message).toContain('there is no store in');
    expect(await readdir(dir)).toEqual([]);
  });
});
