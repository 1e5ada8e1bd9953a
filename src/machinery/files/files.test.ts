import { execFileSync } from 'node:child_process';
import {
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openBelow, openOrMakeDirectory, openRoot, removeTree, walkTree } from './directory.ts';
import { Gate, poolIsAlive, poolSize } from './thread-pool.ts';
import {
  openUntrusted,
  openUntrustedSync,
  readEndUntrusted,
  readUntrusted,
  readUntrustedSync,
} from './untrusted.ts';

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'files-'))));
afterEach(() => {
  execFileSync('rm', ['-rf', dir]);
});
const at = (name: string): string => join(dir, name);
const fifo = (name: string): string => {
  execFileSync('mkfifo', [at(name)]);
  return at(name);
};

describe('a file that is not trusted', () => {
  test('is read within its bounds', async () => {
    writeFileSync(at('a'), 'hello');
    expect((await readUntrusted(at('a'), 5)).toString()).toBe('hello');
    expect(readUntrustedSync(at('a'), 5).data.toString()).toBe('hello');
    await expect(readUntrusted(at('a'), 4)).rejects.toThrow('more than 4 bytes');
    expect(() => readUntrustedSync(at('a'), 4)).toThrow('more than 4 bytes');
    expect((await readEndUntrusted(at('a'), 3)).toString()).toBe('llo');
    expect((await readEndUntrusted(at('a'), 30)).toString()).toBe('hello');
    writeFileSync(at('empty'), '');
    expect(await readUntrusted(at('empty'), 4)).toHaveLength(0);
    expect(readUntrustedSync(at('empty'), 4).data).toHaveLength(0);
  });

  test('is read at its end even if it is huge', async () => {
    writeFileSync(at('huge'), '');
    truncateSync(at('huge'), 2 ** 40);
    expect(await readEndUntrusted(at('huge'), 10)).toEqual(Buffer.alloc(10));
    await expect(readUntrusted(at('huge'), 1000)).rejects.toThrow('more than 1000 bytes');
    expect(() => readUntrustedSync(at('huge'), 1000)).toThrow('more than 1000 bytes');
  });

  test('is not opened if it is of another type', async () => {
    fifo('fifo');
    mkdirSync(at('directory'));
    symlinkSync('target', at('dangling'));
    symlinkSync('loop', at('loop'));
    symlinkSync('/dev/zero', at('zero'));
    writeFileSync(at('target-of-link'), 'x');
    symlinkSync('target-of-link', at('link'));
    for (const [path, type] of [
      [at('fifo'), 'named pipe'],
      [at('directory'), 'directory'],
      [at('dangling'), 'symbolic link'],
      [at('loop'), 'symbolic link'],
      [at('zero'), 'symbolic link'],
      [at('link'), 'symbolic link'],
      ['/dev/zero', 'character device'],
    ] as const) {
      await expect(readUntrusted(path, 10), path).rejects.toThrow(
        `${path} is a ${type}, not a regular file`,
      );
      expect(() => openUntrustedSync(path, constants.O_RDONLY), path).toThrow(`is a ${type}`);
    }
    expect((await readUntrusted(at('link'), 10, { followLinks: true })).toString()).toBe('x');
    await expect(readUntrusted(at('zero'), 10, { followLinks: true })).rejects.toThrow(
      'character device',
    );
    await expect(readUntrusted(at('loop'), 10, { followLinks: true })).rejects.toMatchObject({
      code: 'ELOOP',
    });
    await expect(readUntrusted(at('missing'), 10)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('may be a FIFO if the caller asks for one', async () => {
    const handle = await openUntrusted(fifo('fifo'), constants.O_RDONLY, { type: 'named pipe' });
    await handle.close();
  });
});

describe('the thread pool', () => {
  test('has as many threads as the variable says, as libuv reads it', () => {
    expect(poolSize({})).toBe(4);
    expect(poolSize({ UV_THREADPOOL_SIZE: '16' })).toBe(16);
    expect(poolSize({ UV_THREADPOOL_SIZE: '0' })).toBe(1);
    expect(poolSize({ UV_THREADPOOL_SIZE: 'x' })).toBe(4);
  });

  test('is reported as alive', async () => {
    expect(await poolIsAlive(10_000)).toBe(true);
  });

  test('a gate limits concurrent operations, and skips aborted ones', async () => {
    const gate = new Gate(1);
    const never = new AbortController();
    const abort = new AbortController();
    let release = (): void => undefined;
    const first = gate.run(() => new Promise<void>((resolve) => (release = resolve)), never.signal);
    const order: string[] = [];
    const givenUp = gate.run(async () => void order.push('given up'), abort.signal);
    const last = gate.run(async () => void order.push('last'), never.signal);
    abort.abort(new Error('too late'));
    release();
    await first;
    await expect(givenUp).rejects.toThrow('too late');
    await last;
    expect(order).toEqual(['last']);
  });
});

/**
 * Creates 150 nested directories with names of 40 characters: their path is longer than any call
 * accepts.
 */
function makeDeep(path: string): void {
  const parts = Array.from({ length: 150 }, () => 'a'.repeat(40));
  // The whole path is too long for one call; half of it is not.
  mkdirSync(join(path, ...parts.slice(0, 75)), { recursive: true });
  mkdirSync(join(path, 'b', ...parts.slice(75)), { recursive: true });
  writeFileSync(join(path, 'b', ...parts.slice(75), 'file'), '');
  renameSync(join(path, 'b'), join(path, ...parts.slice(0, 75), 'b'));
}

describe('a tree', () => {
  test('is removed without following links, deep and wide', async () => {
    mkdirSync(at('outside'));
    writeFileSync(at('outside/kept'), 'kept');
    mkdirSync(at('tree'));
    symlinkSync(at('outside'), at('tree/link'));
    fifo('tree/fifo');
    // Deeper than the longest possible path.
    makeDeep(at('tree'));
    for (let i = 0; i < 50; i++) mkdirSync(at(`tree/d${i}`));
    mkdirSync(at('tree/closed/inner'), { recursive: true });
    execFileSync('chmod', ['000', at('tree/closed')]);
    await removeTree(at('tree'));
    expect(existsSync(at('tree'))).toBe(false);
    expect(readFileSync(at('outside/kept'), 'utf8')).toBe('kept');
    await removeTree(at('tree'));
    symlinkSync(at('outside'), at('link'));
    await removeTree(at('link'));
    expect(existsSync(at('link'))).toBe(false);
    expect(existsSync(at('outside/kept'))).toBe(true);
  });

  test('is walked without following links', async () => {
    mkdirSync(at('outside'));
    writeFileSync(at('outside/secret'), 'x', { mode: 0o600 });
    mkdirSync(at('tree/inner'), { recursive: true });
    writeFileSync(at('tree/inner/file'), 'x', { mode: 0o600 });
    symlinkSync(at('outside'), at('tree/link'));
    fifo('tree/fifo');
    const seen: string[] = [];
    await walkTree(at('tree'), async (file) => {
      seen.push(file.path.slice(dir.length + 1));
      await file.chmod(0o777);
    });
    expect(seen.sort()).toEqual([
      'tree',
      'tree/fifo',
      'tree/inner',
      'tree/inner/file',
      'tree/link',
    ]);
    expect(statSync(at('tree/inner/file')).mode & 0o777).toBe(0o777);
    expect(statSync(at('outside')).mode & 0o777).not.toBe(0o777);
  });

  test('is entered name by name', async () => {
    symlinkSync('/', at('link'));
    const root = await openRoot(dir);
    await expect(openBelow(root, 'link')).rejects.toMatchObject({ code: 'ELOOP' });
    await expect(openOrMakeDirectory(root, 'link', 0o755)).rejects.toMatchObject({ code: 'ELOOP' });
    await expect(openBelow(root, '..')).rejects.toThrow('invalid file name');
    const made = await openOrMakeDirectory(root, 'made', 0o751);
    expect(statSync(at('made')).mode & 0o777).toBe(0o751);
    await made.handle.close();
    await root.handle.close();
  });
});
