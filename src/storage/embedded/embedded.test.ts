import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, open as openFile, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { storageConformance } from '../conformance.ts';
import { type Revision, type Storage, StorageError } from '../interface.ts';
import { type EmbeddedStorageConfig, openEmbeddedStorage } from './index.ts';
import { DATABASE_FILE } from './log-database.ts';
import { type Database, loadSqlite } from './sqlite.ts';

storageConformance('embedded', async (options) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'storage-'));
  const clock = new VirtualClock();
  const open = () => openEmbeddedStorage({ clock, logger: silentLogger, dataDir, ...options });
  let storage = await open();
  return {
    storage,
    advance: (ms) => clock.advance(ms),
    reopen: async () => {
      await storage.close();
      storage = await open();
      return storage;
    },
    dispose: async () => {
      await storage.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
});

describe('embedded storage', () => {
  const cleanups: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  async function newDirectory(): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'storage-'));
    cleanups.push(() => rm(directory, { recursive: true, force: true }));
    return directory;
  }

  async function open(
    dataDir: string,
    config: Partial<EmbeddedStorageConfig> = {},
  ): Promise<Storage> {
    const storage = await openEmbeddedStorage({
      clock: new VirtualClock(),
      logger: silentLogger,
      dataDir,
      ...config,
    });
    cleanups.push(() => storage.close());
    return storage;
  }

  async function refusal(opening: Promise<unknown>): Promise<StorageError> {
    const error: unknown = await opening.then(
      () => new Error('it succeeded'),
      (error_: unknown) => error_,
    );
    if (!(error instanceof StorageError)) throw error;
    return error;
  }

  async function put(storage: Storage, key: string, value: Uint8Array | string): Promise<Revision> {
    return (
      await storage.guaranteedUpdate(key, () => ({ action: 'put', value: Buffer.from(value) }))
    ).revision;
  }

  /**
   * Opens the closed database as another program would, and applies `change`. The database file may
   * stay locked until this process ends.
   */
  async function tamper(dataDir: string, change: (database: Database) => void): Promise<void> {
    const { DatabaseSync } = await loadSqlite();
    const database = new DatabaseSync(join(dataDir, DATABASE_FILE));
    change(database);
    database.close();
  }

  test('keeps its files unreadable for other users', async () => {
    const dataDir = join(await newDirectory(), 'a', 'b');
    const storage = await open(dataDir);
    await put(storage, '/a/x', '1');
    const modes = await Promise.all(
      [dataDir, join(dataDir, DATABASE_FILE), join(dataDir, `${DATABASE_FILE}-wal`)].map(
        async (path) => (await stat(path)).mode & 0o777,
      ),
    );
    expect(modes).toEqual([0o700, 0o600, 0o600]);
  });

  test('is open in one process at a time, and names that process', async () => {
    const dataDir = await newDirectory();
    const storage = await open(dataDir);
    const error = await refusal(open(dataDir));
    expect(error.reason).toBe('Unavailable');
    expect(error.message).toContain(`${dataDir} is in use by this process itself`);
    // The failed attempt did not release the lock.
    expect((await refusal(open(dataDir))).reason).toBe('Unavailable');
    await writeFile(join(dataDir, 'storage.pid'), '4242\n');
    expect((await refusal(open(dataDir))).message).toContain('in use by process 4242');
    await put(storage, '/a/x', '1');
    await storage.close();
    const again = await open(dataDir);
    expect(await again.count('/a/')).toBe(1);
  });

  test('keeps every acknowledged write when the process is killed', async () => {
    const dataDir = await newDirectory();
    const acknowledged = new Map<Revision, { key: string; value: string | null }>();
    let begin = 1;
    for (let round = 0; round < 3; round++) {
      const lines = await writeUntilKilled(dataDir, 400 + 150 * round);
      expect(lines.length).toBeGreaterThanOrEqual(400);
      for (const [revision, key, value] of lines) {
        expect(revision).toBeGreaterThan(begin);
        expect(acknowledged.has(revision)).toBe(false);
        acknowledged.set(revision, { key, value });
      }
      const storage = await openEmbeddedStorage({
        clock: new VirtualClock(),
        logger: silentLogger,
        dataDir,
      });
      const current = await storage.currentRevision();
      expect(current).toBeGreaterThanOrEqual(Math.max(...acknowledged.keys()));
      // The disk has every acknowledged write, and at most one unacknowledged write of each loop
      // and round.
      const history: { revision: Revision; key: string; value: string | null }[] = [];
      for await (const event of storage.watch('/crash/', {
        afterRevision: 1,
        progressIntervalMs: 60_000,
      })) {
        if (event.type === 'progress') break;
        if (event.type === 'put')
          history.push({
            revision: event.revision,
            key: event.kv.key,
            value: text(event.kv.value),
          });
        else history.push({ revision: event.revision, key: event.key, value: null });
      }
      expect(history.map((event) => event.revision)).toEqual(
        Array.from({ length: current - 1 }, (_, i) => i + 2),
      );
      const acknowledgedEvents = history.filter((event) => acknowledged.has(event.revision));
      expect(acknowledgedEvents).toEqual(
        [...acknowledged]
          .sort(([a], [b]) => a - b)
          .map(([revision, write]) => ({ revision, ...write })),
      );
      expect(history.length - acknowledgedEvents.length).toBeLessThanOrEqual(16 * (round + 1));
      const last = new Map(history.map((event) => [event.key, event.value]));
      const { items } = await storage.list('/crash/');
      const expected = [...last]
        .filter(([, value]) => value !== null)
        .sort(([a], [b]) => (a < b ? -1 : 1));
      expect(items.map((kv) => [kv.key, text(kv.value)])).toEqual(expected);
      await storage.close();
      begin = current;
    }
  });

  test('rejects writes without space, keeps acknowledged ones, and accepts writes again later', async () => {
    const dataDir = await newDirectory();
    const storage = await open(dataDir, { maxBytes: 1024 * 1024 });
    const value = Buffer.alloc(10_000, 'x');
    const acknowledged = new Map<string, Revision>();
    let full: StorageError | undefined;
    while (full === undefined) {
      const batch = Array.from({ length: 8 }, async (_, i) => {
        const key = `/a/${i}`;
        const revision = await put(storage, key, value);
        acknowledged.set(key, Math.max(revision, acknowledged.get(key) ?? 0));
      });
      const outcomes = await Promise.allSettled(batch);
      for (const outcome of outcomes)
        if (outcome.status === 'rejected') full = outcome.reason as StorageError;
    }
    expect(full).toMatchObject({ name: 'StorageError', reason: 'NoSpace' });
    // A batch of eight writes may fail where a single write still fits.
    full = undefined;
    while (full === undefined) {
      const outcome = await put(storage, '/a/0', value).catch((error: unknown) => error);
      if (typeof outcome === 'number') acknowledged.set('/a/0', outcome);
      else full = outcome as StorageError;
    }
    expect(full.reason).toBe('NoSpace');
    expect((await refusal(storage.health())).reason).toBe('NoSpace');
    // Reads still work, and show exactly the acknowledged writes.
    const { items, revision } = await storage.list('/a/');
    expect(new Map(items.map((kv) => [kv.key, kv.modRevision]))).toEqual(acknowledged);
    expect(revision).toBe(Math.max(...acknowledged.values()));
    // Compaction frees space.
    await storage.compact(revision);
    await storage.health();
    expect(await put(storage, '/a/0', value)).toBe(revision + 1);
    await storage.close();
    const again = await open(dataDir);
    expect(await again.currentRevision()).toBe(revision + 1);
    expect((await again.list('/a/')).items.map((kv) => kv.modRevision)).toEqual([
      revision + 1,
      ...items.slice(1).map((kv) => kv.modRevision),
    ]);
  });

  test('resumes a compaction that a crash interrupted', async () => {
    const dataDir = await newDirectory();
    let storage = await open(dataDir);
    for (let i = 0; i < 20; i++) await put(storage, `/a/${i % 4}`, String(i));
    const { revision } = await storage.delete('/a/0');
    const last = await put(storage, '/a/1', 'last');
    const state = (await storage.list('/a/')).items.map((kv) => [kv.key, kv.modRevision]);
    await storage.close();
    // Simulates a crash after the first deleted rows: the deletion of /a/0 is on disk, but not all
    // rows that it made obsolete are deleted.
    await tamper(dataDir, (database) => {
      database.exec(`DELETE FROM log WHERE revision < 8;
        UPDATE meta SET value = ${revision} WHERE name = 'compacted_revision';
        UPDATE meta SET value = (SELECT count(*) FROM log WHERE revision <= ${revision}) WHERE name = 'kept_rows';
        UPDATE meta SET value = (SELECT sum(revision) FROM log WHERE revision <= ${revision}) WHERE name = 'kept_sum'`);
    });
    storage = await open(dataDir);
    expect((await storage.list('/a/')).items.map((kv) => [kv.key, kv.modRevision])).toEqual(state);
    expect((await refusal(storage.list('/a/', { revision: revision - 1 }))).reason).toBe('Expired');
    await put(storage, '/a/9', 'x');
    await storage.compact(last);
    await storage.close();
    storage = await open(dataDir);
    expect(await storage.currentRevision()).toBe(last + 1);
    expect(await storage.count('/a/')).toBe(4);
    await storage.close();
    await tamper(dataDir, (database) => {
      const rows = database.prepare('SELECT revision FROM log ORDER BY revision').all() as {
        revision: number;
      }[];
      const needed = [...state.map(([, modRevision]) => Number(modRevision)), last + 1].sort(
        (a, b) => a - b,
      );
      expect(rows.map((row) => row.revision)).toEqual(needed);
    });
  });

  test.each([100, 1000])(
    'does not grow without end while %i writers update the same keys',
    async (writers) => {
      const dataDir = await newDirectory();
      const storage = await open(dataDir, { maxHistoryRevisions: 500 });
      const value = Buffer.alloc(2000, 'x');
      const sizes: number[] = [];
      for (let round = 0; round < 8; round++) {
        for (let i = 0; i < 2000 / writers; i++) {
          await Promise.all(
            Array.from({ length: writers }, (_, writer) =>
              put(storage, `/a/${writer % 100}`, value),
            ),
          );
        }
        const files = await Promise.all(
          [DATABASE_FILE, `${DATABASE_FILE}-wal`].map(
            async (name) => (await stat(join(dataDir, name))).size,
          ),
        );
        sizes.push(files.reduce((sum, size) => sum + size, 0));
      }
      // Each round writes 4 MB. The first rounds fill the log up to the point where it is reused
      // from its start.
      expect(Math.max(...sizes.slice(4))).toBeLessThanOrEqual(1.2 * Math.max(...sizes.slice(0, 4)));
      expect(sizes.at(-1)).toBeLessThan(24e6);
      expect(await storage.count('/a/')).toBe(100);
    },
  );

  test('returns the space of deleted rows to the file system', async () => {
    const dataDir = await newDirectory();
    const storage = await open(dataDir);
    const value = Buffer.alloc(8000, 'x');
    const keys = Array.from({ length: 5000 }, (_, i) => `/a/${i}`);
    await Promise.all(keys.map((key) => storage.create(key, value)));
    await Promise.all(keys.map((key) => storage.delete(key)));
    await storage.compact(await storage.currentRevision());
    await storage.close();
    expect((await stat(join(dataDir, DATABASE_FILE))).size).toBeLessThan(25e6);
  });

  test('opens 100,000 objects in seconds', async () => {
    const dataDir = await newDirectory();
    const storage = await open(dataDir);
    const value = Buffer.alloc(300, 'x');
    for (let i = 0; i < 100; i++) {
      await Promise.all(
        Array.from({ length: 1000 }, (_, j) => storage.create(`/a/${i}-${j}`, value)),
      );
    }
    await storage.compact(await storage.currentRevision());
    await storage.close();
    const began = systemClock.monotonic();
    const progress: (readonly [number, number])[] = [];
    const again = await open(dataDir, {
      onProgress: (rows, total) => progress.push([rows, total]),
    });
    const took = systemClock.monotonic() - began;
    expect(await again.count('/a/')).toBe(100_000);
    expect(progress.length).toBeGreaterThan(5);
    expect(progress.every(([, total]) => total === 100_000)).toBe(true);
    const rows = progress.map(([read]) => read);
    expect(rows).toEqual(rows.toSorted((a, b) => a - b));
    // Opening takes at most one second on an idle machine (bench/storage). This limit only detects
    // a multiple of that.
    expect(took).toBeLessThan(8000);
  });

  test('opens a store of an older format, and checks it from then on', async () => {
    const dataDir = await newDirectory();
    let storage = await open(dataDir);
    for (let i = 0; i < 20; i++) await put(storage, `/a/${i % 4}`, String(i));
    await storage.compact(15);
    await storage.close();
    await tamper(dataDir, (database) => {
      database.exec("DELETE FROM meta WHERE name LIKE 'kept%'; PRAGMA user_version = 1");
    });
    storage = await open(dataDir);
    expect(await storage.count('/a/')).toBe(4);
    await storage.compact(18);
    await storage.close();
    await tamper(dataDir, (database) =>
      database.exec('DELETE FROM log WHERE revision = (SELECT min(revision) FROM log)'),
    );
    expect(await refusal(open(dataDir))).toMatchObject({ reason: 'Corrupt' });
  });

  test('rejects a log that ends before the last acknowledged write', async () => {
    const dataDir = await newDirectory();
    const storage = await open(dataDir);
    for (let i = 0; i < 5; i++) await put(storage, `/a/${i}`, 'x');
    const last = await storage.currentRevision();
    await storage.close();
    await tamper(dataDir, (database) => database.exec(`DELETE FROM log WHERE revision = ${last}`));
    const error = await refusal(open(dataDir));
    expect(error.reason).toBe('Corrupt');
    expect(error.message).toContain(`revision ${last} was acknowledged`);
    expect(error.message).toContain('cox snapshot restore');
  });

  describe('rejects a directory that it cannot trust', () => {
    /** Returns the directory of a closed store with some history. */
    async function filled(): Promise<string> {
      const dataDir = await newDirectory();
      const storage = await open(dataDir);
      for (let i = 0; i < 200; i++) await put(storage, `/a/${i}`, Buffer.alloc(2000, 'x'));
      await storage.close();
      return dataDir;
    }

    test.each([
      [
        'a changed value',
        "UPDATE log SET record = CAST(replace(CAST(record AS TEXT), 'xxxx', 'xxyx') AS BLOB) WHERE revision = 100",
        'revision 100 does not match',
      ],
      [
        'a record of another revision',
        'UPDATE log SET revision = 1000 WHERE revision = 201',
        'revision 201 is missing',
      ],
      ['a missing row', 'DELETE FROM log WHERE revision = 77', 'revision 77 is missing'],
      ['a missing table', 'DROP TABLE log', 'no such table'],
    ])('%s', async (_, sql, message) => {
      const dataDir = await filled();
      await tamper(dataDir, (database) => database.exec(sql));
      const error = await refusal(open(dataDir));
      expect(error.reason).toBe('Corrupt');
      expect(error.message).toContain(message);
      expect(error.message).toContain(dataDir);
    });

    test('a damaged file', async () => {
      const dataDir = await filled();
      const file = await openFile(join(dataDir, DATABASE_FILE), 'r+');
      for (let page = 2; page < 60; page++)
        await file.write(Buffer.alloc(4096, 0xa5), 0, 4096, page * 4096);
      await file.close();
      const error = await refusal(open(dataDir));
      expect(error.reason).toBe('Corrupt');
      expect(error.message).toMatch(
        /is damaged .*: restore a snapshot .*, or move the directory away/,
      );
    });

    test.each([
      ['that says that it must not be written', 18, 'readonly'],
      ['with a format that never was', 60, 'its format is'],
    ])('a file %s', async (_, byte, message) => {
      const dataDir = await filled();
      const file = await openFile(join(dataDir, DATABASE_FILE), 'r+');
      const { buffer } = await file.read(Buffer.alloc(1), 0, 1, byte);
      await file.write(Buffer.of((buffer[0] ?? 0) ^ 0x80), 0, 1, byte);
      await file.close();
      const error = await refusal(open(dataDir));
      expect(error.reason).toBe('Corrupt');
      expect(error.message).toContain(message);
      expect(error.message).toMatch(/restore a snapshot/);
    });

    test('a file that is not a database', async () => {
      const dataDir = await newDirectory();
      await writeFile(
        join(dataDir, DATABASE_FILE),
        'not a database, but long enough to be looked at'.repeat(100),
      );
      const error = await refusal(open(dataDir));
      expect(error.reason).toBe('Corrupt');
      expect(await readFile(join(dataDir, DATABASE_FILE), 'utf8')).toContain('not a database');
    });

    test('the database of another program', async () => {
      const dataDir = await newDirectory();
      await tamper(dataDir, (database) => database.exec('CREATE TABLE theirs (a)'));
      const error = await refusal(open(dataDir));
      expect(error).toMatchObject({ reason: 'Corrupt' });
      expect(error.message).toContain('another program');
    });

    test('a format of the future', async () => {
      const dataDir = await filled();
      await tamper(dataDir, (database) => database.exec('PRAGMA user_version = 99'));
      const error = await refusal(open(dataDir));
      expect(error).toMatchObject({ reason: 'Corrupt' });
      expect(error.message).toContain('format 99');
      expect(error.message).toContain('newer version');
    });

    test.skipIf(process.getuid?.() === 0)(
      'one without access (not as root, who has access to everything)',
      async () => {
        const dataDir = await newDirectory();
        await chmod(dataDir, 0o500);
        expect(await refusal(open(dataDir))).toMatchObject({ reason: 'Unavailable' });
        await chmod(dataDir, 0o700);
      },
    );

    test('a path that is a file', async () => {
      const path = join(await newDirectory(), 'file');
      await writeFile(path, '');
      const error = await refusal(open(path));
      expect(error).toMatchObject({ reason: 'Unavailable' });
      expect(error.message).toContain(path);
    });
  });
});

function text(value: Uint8Array): string {
  return new TextDecoder().decode(value);
}

type Line = [revision: Revision, key: string, value: string | null];

/**
 * Runs the crash writer, kills it after `count` acknowledgements, and returns all that it printed.
 */
async function writeUntilKilled(dataDir: string, count: number): Promise<Line[]> {
  const program = fileURLToPath(new URL('./crash-writer.ts', import.meta.url));
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const child = spawn(process.execPath, ['--import', loader, program, dataDir], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += String(chunk)));
  const closed = once(child, 'close');
  const lines: Line[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    // The kill may cut off the last line, which then does not count as acknowledged.
    if (!line.endsWith(']')) continue;
    lines.push(JSON.parse(line) as Line);
    if (lines.length === count) child.kill('SIGKILL');
  }
  const [, signal] = (await closed) as [number | null, string | null];
  if (signal !== 'SIGKILL') throw new Error(`the writer ended by itself: ${errors}`);
  return lines;
}
