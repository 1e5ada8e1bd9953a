// Snapshots of a cluster's data directory: taken while the store is in use, put back while it is not.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import { define, definitionOf } from '#apiserver/testing/custom-resources.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import { widgetType } from '#apiserver/testing/widgets.ts';
import type { Client } from '#client/client.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import type { Storage } from '#storage/interface.ts';
import { identify } from '#runtime/process-identity.ts';
import { dataDirLayout } from '../data-dir/data-dir.ts';
import { clusterSnapshotStatus, restoreClusterSnapshot, saveClusterSnapshot } from './snapshot.ts';
import { openStorage } from './open-storage.ts';

describe('snapshots of a cluster', () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  function newDirectory(): string {
    const dir = mkdtempSync(join(tmpdir(), 'coxswain-snapshot-'));
    cleanups.push(() => rmSync(dir, { recursive: true, force: true }));
    return dir;
  }

  async function open(dataDir: string): Promise<Storage> {
    const { store: dir } = dataDirLayout(dataDir);
    const base = { clock: systemClock, random: systemRandom, logger: silentLogger };
    const storage = await openStorage({ ...base, choice: 'embedded', etcd: undefined, dir });
    cleanups.push(() => storage.close());
    return storage;
  }

  const put = async (storage: Storage, value: string): Promise<number> =>
    (
      await storage.guaranteedUpdate('/registry/a/x', () => ({
        action: 'put',
        value: Buffer.from(value),
      }))
    ).revision;
  const read = async (storage: Storage): Promise<string> =>
    Buffer.from((await storage.get('/registry/a/x'))?.value ?? []).toString();

  /** A data directory whose store has gone on since its snapshot. */
  async function saved(): Promise<{ dataDir: string; file: string; revision: number }> {
    const dataDir = newDirectory();
    const file = join(dataDir, 'backup.snap');
    const storage = await open(dataDir);
    const revision = await put(storage, 'then');
    expect(await saveClusterSnapshot({ dataDir, file })).toMatchObject({ revision, keys: 1 });
    await put(storage, 'now');
    await storage.close();
    return { dataDir, file, revision };
  }

  test('have definitions and their objects, which are served again', async () => {
    const dataDir = newDirectory();
    const file = join(dataDir, 'backup.snap');
    const widget = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'a' },
      spec: { size: 3 },
    };
    const storage = await open(dataDir);
    const before = await startTestServer({ clock: systemClock, storage });
    await define(before.client, definitionOf());
    const widgets = (client: Client) => client.resource(widgetType()).namespace('default');
    const { metadata } = await widgets(before.client).create(widget);
    await saveClusterSnapshot({ dataDir, file });
    await before.client.resource(customResourceDefinitions).delete('widgets.example.com');
    await before.stop();

    await restoreClusterSnapshot({ dataDir, file, bumpRevision: 1000 });
    const after = await startTestServer({ clock: systemClock, storage: await open(dataDir) });
    try {
      expect(await widgets(after.client).get('a')).toMatchObject({
        ...widget,
        metadata: { name: 'a', uid: metadata.uid },
      });
      await widgets(after.client).create({ metadata: { name: 'b' } });
      await after.client.resource(customResourceDefinitions).delete('widgets.example.com');
      await vi.waitFor(
        () =>
          expect(widgets(after.client).list()).rejects.toThrow(
            'could not find the requested resource',
          ),
        { timeout: 60_000 },
      );
    } finally {
      await after.stop();
    }
  });

  test('are restored, and keep the store that was there', async () => {
    const { dataDir, file, revision } = await saved();
    expect(await clusterSnapshotStatus(file)).toMatchObject({ revision, keys: 1 });
    const { store, movedTo } = await restoreClusterSnapshot({ dataDir, file, bumpRevision: 1000 });
    expect(store).toBe(join(dataDir, 'store'));
    const restored = await open(dataDir);
    expect(await read(restored)).toBe('then');
    expect(await restored.currentRevision()).toBe(revision + 1000);
    await restored.close();
    rmSync(store, { recursive: true });
    renameSync(movedTo ?? '', store);
    expect(await read(await open(dataDir))).toBe('now');
  });

  test('are not restored under a running cluster, nor from a damaged file, and no file changes', async () => {
    const { dataDir, file } = await saved();
    const damaged = join(dataDir, 'damaged.snap');
    writeFileSync(damaged, 'not a snapshot');
    await expect(
      restoreClusterSnapshot({ dataDir, file: damaged, bumpRevision: 0 }),
    ).rejects.toThrow(damaged);
    const { pidFile } = dataDirLayout(dataDir);
    const other = identify(process.ppid);
    writeFileSync(pidFile, `${other?.pid} ${other?.startTime}\n`);
    await expect(restoreClusterSnapshot({ dataDir, file, bumpRevision: 0 })).rejects.toThrow(
      `process ${other?.pid}`,
    );
    rmSync(pidFile);
    expect(await read(await open(dataDir))).toBe('now');
    expect(readdirSync(dataDir).filter((name) => name.startsWith('store'))).toEqual(['store']);
  });

  test('are in place at the next start if the restoration was cut off at its last step', async () => {
    const { dataDir, file } = await saved();
    await restoreClusterSnapshot({ dataDir, file, bumpRevision: 0 });
    const { store } = dataDirLayout(dataDir);
    // The state after a crash between moving the old store aside and moving the new one into its
    // place.
    renameSync(store, `${store}.restored`);
    expect(await read(await open(dataDir))).toBe('then');
    expect(existsSync(`${store}.restored`)).toBe(false);
  });

  test('are restored although an attempt before was cut off in the middle', async () => {
    const { dataDir, file } = await saved();
    const { store } = dataDirLayout(dataDir);
    for (const left of [`${store}.restored`, `${store}.restored.restoring`]) {
      mkdirSync(left);
      writeFileSync(join(left, 'storage.db'), 'half of it');
    }
    await restoreClusterSnapshot({ dataDir, file, bumpRevision: 0 });
    expect(await read(await open(dataDir))).toBe('then');
  });
});
