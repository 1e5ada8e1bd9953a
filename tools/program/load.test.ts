import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadProgram } from './load.ts';

interface Sum {
  sum(): number;
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coxswain-load-'));
  write(1);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (term: number): void =>
  writeFileSync(
    join(folder, 'program.js'),
    '(function(exports,require,module,__filename,' +
      `__dirname){exports.sum=()=>require('node:path').basename(__filename).length+${term}})`,
  );
const load = (): { answer: number; compiledBefore: boolean } => {
  const { program, compiledBefore } = loadProgram<Sum>({ folder });
  return { answer: program.sum(), compiledBefore };
};
const keep = (): string => {
  const { program, keepCompiled } = loadProgram<Sum>({ folder });
  program.sum();
  return keepCompiled();
};

describe('the built program', () => {
  test('is compiled if there is no compiled code, and loaded from the compiled code afterwards', () => {
    expect(load()).toEqual({ answer: 11, compiledBefore: false });
    const path = keep();
    expect(load()).toEqual({ answer: 11, compiledBefore: true });
    expect(readdirSync(folder).toSorted()).toEqual([path.slice(folder.length + 1), 'program.js']);
  });

  test('compiled code of another program with the same length is not used', () => {
    keep();
    write(2);
    expect(load()).toEqual({ answer: 12, compiledBefore: false });
    keep();
    expect(load()).toEqual({ answer: 12, compiledBefore: true });
  });

  test('is compiled again if the compiled code is damaged, cut off or empty', () => {
    const path = keep();
    const whole = readFileSync(path);
    const damaged = Buffer.from(whole);
    damaged[whole.length - 5] = damaged[whole.length - 5]! ^ 1;
    for (const content of [
      damaged,
      whole.subarray(0, whole.length - 8),
      whole.subarray(0, 3),
      Buffer.alloc(0),
    ]) {
      writeFileSync(path, content);
      expect(load()).toEqual({ answer: 11, compiledBefore: false });
    }
  });

  test('reports why compiled code cannot be kept', () => {
    const { keepCompiled } = loadProgram<Sum>({ folder });
    rmSync(folder, { recursive: true });
    expect(keepCompiled).toThrow(/ENOENT/);
  });
});
