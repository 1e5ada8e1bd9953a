import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { type Storage, StorageError } from '../interface.ts';
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

  /** Returns a store with 30 keys: some are updated, some deleted, one expires. */
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

  test('are taken during writes, show one revision, and can be restored', async () => {
    const running = await fill();
    const file = join(dir, 'file.snap');
    const stop = new AbortController();
    // The two keys change in this order. A snapshot that mixed revisions could have the second
    // ahead of the first.
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
      // Revisions before the snapshot cannot be read; later ones can.
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
    // Compaction counts the restored rows correctly.
    const again = await openEmbeddedStorage({ ...config, dataDir: join(dir, 'restored') });
    expect(await again.get('/a/new')).toBeDefined();
    await again.close();
  });

  test('are taken of a closed store, and restored to a later revision', async () => {
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

  test('are rejected with any byte changed or missing, and leave no files behind', async () => {
    await (await fill()).close();
    const file = join(dir, 'file.snap');
    await saveSnapshot({ ...config, dataDir: join(dir, 'store'), file });
    const original = await readFile(file);
    const damaged = join(dir, 'damaged.snap');
    for (let at = 0; at < original.length; at += 7) {
      const changed = Buffer.from(original);
      changed[at] = (changed[at] ?? 0) ^ 0x10;
      await writeFile(damaged, changed);
      expect(await refused(snapshotStatus(damaged))).toMatchObject({ reason: 'Corrupt' });
      await writeFile(damaged, original.subarray(0, at));
      expect(await refused(snapshotStatus(damaged))).toMatchObject({ reason: 'Corrupt' });
    }
    const error = await refused(
      restoreSnapshot({ file: damaged, dataDir: join(dir, 'restored'), bumpRevision: 0 }),
    );
    expect(error.message).toContain(damaged);
    expect((await readdir(dir)).sort()).toEqual(['damaged.snap', 'file.snap', 'store']);
  });

  test('report a store that does not exist', async () => {
    const error = await refused(
      saveSnapshot({ ...config, dataDir: join(dir, 'none'), file: join(dir, 'x') }),
    );
    expect(error.message).toContain('there is no store in');
    expect(await readdir(dir)).toEqual([]);
  });
});
