// Declarations of the public entries: emitted by tsc, reduced to the files that the entries reach,
// with relative imports, so that they need no settings of a user's compiler.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageExports } from './package-exports.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const SPECIFIER = /(\bfrom\s+|\bimport\s*\(?\s*)(['"])([^'"]+)\2/g;

/**
 * Writes the declarations into a folder. Throws if tsc finds errors, or if a declaration imports a
 * package other than Node's own types. `areChecked`: the types of the sources were checked before,
 * which is most of the work, and are not checked again.
 */
export function emitDeclarations(folder, { areChecked = false } = {}) {
  for (const [path, text] of publicDeclarations(areChecked ? ['--noCheck'] : [])) {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

/**
 * Returns the text of every declaration file that the public entries reach, by its path below src/,
 * in the order of paths. `options`: of tsc.
 */
export function publicDeclarations(options = []) {
  const emitted = join(root, '.cache', `declarations-${process.pid}`);
  try {
    const tsc = join(root, 'node_modules', '.bin', 'tsc');
    const args = ['-p', 'tsconfig.types.json', '--outDir', emitted, ...options];
    const { status, stdout } = spawnSync(tsc, args, { cwd: root, encoding: 'utf8' });
    if (status !== 0) throw new Error(`tsc failed:\n${stdout}`);
    const reached = new Map();
    const queue = Object.values(packageExports()).map(({ source }) =>
      declarationOf(source.slice('src/'.length)),
    );
    for (const path of queue) {
      if (reached.has(path)) continue;
      reached.set(path, rewritten(path, readFileSync(join(emitted, path), 'utf8'), queue, emitted));
    }
    return new Map([...reached].sort(([a], [b]) => (a < b ? -1 : 1)));
  } finally {
    rmSync(emitted, { recursive: true, force: true });
  }
}

const declarationOf = (path) => path.replace(/\.ts$/, '.d.ts');

/** Returns the text with relative imports; the files that it imports go to the queue. */
function rewritten(path, text, queue, emitted) {
  return text.replace(SPECIFIER, (match, keyword, quote, specifier) => {
    if (specifier.startsWith('node:')) return match;
    if (!specifier.startsWith('.') && !specifier.startsWith('#')) {
      throw new Error(
        `${path} imports the types of ${specifier}: declare what is needed of them instead, ` +
          'so that users need no more packages',
      );
    }
    const target = specifier.startsWith('#')
      ? specifier.slice(1)
      : posix.join(posix.dirname(path), specifier);
    const declaration = declarationOf(target);
    if (!existsSync(join(emitted, declaration)))
      throw new Error(`${path} imports ${specifier}, which has no declarations`);
    queue.push(declaration);
    const relative = posix.relative(posix.dirname(path), target).replace(/\.ts$/, '.js');
    return `${keyword}${quote}${relative.startsWith('.') ? relative : `./${relative}`}${quote}`;
  });
}
