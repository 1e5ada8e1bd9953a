// The versions of kubectl on this machine: installed beside the one in PATH, or built by build.ts.

import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findProgram } from '#cluster/machine/install.ts';
import { cacheDir, requiredVersion } from '../conformance/binaries.ts';
import { skewCacheDir } from './programs.ts';

/** Versions that must work: two before this server's, its own, and the next. */
export const expectedKubectls: readonly string[] = ['1.34', '1.35', '1.36', '1.37'];

/** Returns the path of each version, such as 1.34, from the oldest to the newest. */
export function findKubectls(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const add = (version: string | undefined, path: string): void => {
    if (version !== undefined && !found.has(version) && existsSync(path)) found.set(version, path);
  };
  add(minorOf(requiredVersion()), join(cacheDir(requiredVersion()), 'kubectl'));
  for (const name of filesOf(skewCacheDir()))
    add(minorOf(name), join(skewCacheDir(), name, 'kubectl'));
  const inPath = findProgram('kubectl');
  const folder = inPath === undefined ? undefined : dirname(realpathSync(inPath));
  for (const name of folder === undefined ? [] : filesOf(folder))
    add(/^kubectl\.(1\.\d+)$/.exec(name)?.[1], join(folder ?? '', name));
  return new Map([...found].sort(([a], [b]) => minorNumber(a) - minorNumber(b)));
}

/** Returns 1.34 for v1.34.4. */
const minorOf = (version: string): string | undefined => /^v(1\.\d+)\./.exec(version)?.[1];
const minorNumber = (version: string): number => Number(version.split('.')[1]);
const filesOf = (dir: string): readonly string[] => (existsSync(dir) ? readdirSync(dir) : []);
