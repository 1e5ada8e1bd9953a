import * as fs from 'node:fs';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createDurableFile,
  renameDurably,
  writeDurableFile,
  type DurableFileSystem,
} from './durable-file.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'durable-file-'));
  path = join(dir, 'file');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Returns a file system that records its operations and fails at the given one, counted from 0. */
function failingAt(step: number): {
  readonly fileSystem: DurableFileSystem;
  readonly operations: string[];
} {
  const operations: string[] = [];
  const names = new Map<number, string>();
  const run = <T>(operation: string, effect: () => T): T => {
    operations.push(operation);
    if (operations.length - 1 === step)
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    return effect();
  };
  const short = (name: string): string => name.slice(dir.length + 1) || '.';
  const fileSystem: DurableFileSystem = {
    openSync: (name, flags, mode) =>
      run(`open ${short(name)}`, () => {
        const file = fs.openSync(name, flags, mode);
        names.set(file, short(name));
        return file;
      }),
    writeFileSync: (file, contents) =>
      run(`write ${names.get(file)}`, () => fs.writeFileSync(file, contents)),
    fsyncSync: (file) => run(`fsync ${names.get(file)}`, () => fs.fsyncSync(file)),
    // A failed close has released the descriptor nevertheless.
    closeSync: (file) => {
      fs.closeSync(file);
      run(`close ${names.get(file)}`, () => undefined);
    },
    renameSync: (from, to) =>
      run(`rename ${short(from)} ${short(to)}`, () => fs.renameSync(from, to)),
    linkSync: (from, to) => run(`link ${short(from)} ${short(to)}`, () => fs.linkSync(from, to)),
    rmSync: (name, options) => run(`rm ${short(name)}`, () => fs.rmSync(name, options)),
  };
  return { fileSystem, operations };
}

describe('writeDurableFile', () => {
  test('syncs the contents before the rename and the directory after it', () => {
    const { fileSystem, operations } = failingAt(-1);
    writeDurableFile(path, 'new', { fileSystem });
    expect(operations).toEqual([
      'rm file.tmp',
      'open file.tmp',
      'write file.tmp',
      'fsync file.tmp',
      'close file.tmp',
      'rename file.tmp file',
      'open .',
      'fsync .',
      'close .',
    ]);
    expect(readFileSync(path, 'utf8')).toBe('new');
  });

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
    'leaves a complete file and nothing else when operation %i fails',
    (step) => {
      writeFileSync(path, 'old');
      expect(() =>
        writeDurableFile(path, 'new', { fileSystem: failingAt(step).fileSystem }),
      ).toThrow(/no space/);
      expect(readdirSync(dir)).toEqual(['file']);
      expect(readFileSync(path, 'utf8')).toBe(step <= 5 ? 'old' : 'new');
    },
  );

  test('does not reuse a temporary file that a crash or another user left', () => {
    writeFileSync(`${path}.tmp`, 'a longer rest of an earlier write', { mode: 0o666 });
    writeDurableFile(path, 'new', { mode: 0o600 });
    expect(readFileSync(path, 'utf8')).toBe('new');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const victim = join(dir, 'victim');
    writeFileSync(victim, 'untouched');
    symlinkSync(victim, `${path}.tmp`);
    writeDurableFile(path, 'newer');
    expect([readFileSync(path, 'utf8'), readFileSync(victim, 'utf8')]).toEqual([
      'newer',
      'untouched',
    ]);
  });
});

describe('createDurableFile', () => {
  test('creates a file that is never visible without its contents', () => {
    const { fileSystem, operations } = failingAt(-1);
    createDurableFile(path, 'contents', { fileSystem, mode: 0o644 });
    expect(operations.slice(2, 6)).toEqual([
      'write file.tmp',
      'fsync file.tmp',
      'close file.tmp',
      'link file.tmp file',
    ]);
    expect(readFileSync(path, 'utf8')).toBe('contents');
    expect(readdirSync(dir)).toEqual(['file']);
  });

  test('fails with EEXIST and changes nothing if the file exists', () => {
    writeFileSync(path, 'old');
    expect(() => createDurableFile(path, 'new')).toThrow(
      expect.objectContaining({ code: 'EEXIST' }),
    );
    expect(readdirSync(dir)).toEqual(['file']);
    expect(readFileSync(path, 'utf8')).toBe('old');
  });

  test.each([0, 1, 2, 3, 4, 5])('creates nothing when operation %i fails', (step) => {
    expect(() =>
      createDurableFile(path, 'new', { fileSystem: failingAt(step).fileSystem }),
    ).toThrow(/no space/);
    expect(readdirSync(dir)).toEqual([]);
  });
});

describe('renameDurably', () => {
  test('syncs both directories', () => {
    fs.mkdirSync(join(dir, 'other'));
    writeFileSync(path, 'contents');
    const { fileSystem, operations } = failingAt(-1);
    renameDurably(path, join(dir, 'other', 'file'), { fileSystem });
    expect(operations.filter((operation) => operation.startsWith('fsync'))).toEqual([
      'fsync other',
      'fsync .',
    ]);
    expect(readFileSync(join(dir, 'other', 'file'), 'utf8')).toBe('contents');
  });
});
