// Builds the oracle: a Go program of upstream's eviction manager, in a module that is made for the
// build.

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheDir, goBuild, moduleSource, requiredVersion } from '../../conformance/binaries.ts';

const ORACLE = fileURLToPath(new URL('oracle', import.meta.url));
const CONFORMANCE = fileURLToPath(new URL('../../conformance', import.meta.url));

/**
 * Returns the path of the oracle, which is built when it is used for the first time. Throws a
 * UserError if Go is missing or the build fails.
 */
export function ensureOracle(progress: (text: string) => void): string {
  const path = join(cacheDir(requiredVersion()), 'eviction-oracle');
  if (existsSync(path)) return path;
  progress(`building ${path}, once`);
  mkdirSync(dirname(path), { recursive: true });
  const module = mkdtempSync(join(tmpdir(), 'coxswain-oracle-'));
  try {
    layOut(module);
    goBuild('.', `${path}.partial`, module);
    renameSync(`${path}.partial`, path);
  } finally {
    rmSync(module, { recursive: true, force: true });
  }
  return path;
}

/** Upstream's package gets a file of ours, so it is copied: its own files are not exported. */
function layOut(module: string): void {
  const goMod = readFileSync(join(CONFORMANCE, 'go.mod'), 'utf8');
  writeFileSync(join(module, 'go.mod'), goMod.replace(/^module .*$/m, 'module oracle'));
  copyFileSync(join(CONFORMANCE, 'go.sum'), join(module, 'go.sum'));
  copyFileSync(join(ORACLE, 'main.go'), join(module, 'main.go'));
  mkdirSync(join(module, 'eviction'));
  const upstream = join(moduleSource(), 'pkg/kubelet/eviction');
  const sources = readdirSync(upstream).filter((name) => /(?<!_test)\.go$/.test(name));
  for (const name of sources) copyFileSync(join(upstream, name), join(module, 'eviction', name));
  copyFileSync(join(ORACLE, 'manager.go'), join(module, 'eviction', 'oracle.go'));
}
