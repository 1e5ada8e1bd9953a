// Bundles the programs of threads and worker processes once per test run. From the sources each of
// them would compile hundreds of files at its start, and there are hundreds of starts in a run.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { PROGRAMS_VARIABLE } from '#machinery/worker-source.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The programs, by their names in a built package, and one that only a test starts. */
const PROGRAMS = {
  'components-thread': 'src/cluster/thread/main.ts',
  'api-worker': 'src/cluster/api-workers/main.ts',
  'storage-worker': 'src/storage/embedded/worker.ts',
  'yaml-worker': 'src/apiserver/endpoints/yaml-worker.ts',
  determinism: 'src/cluster/embedded/determinism.scenario.ts',
};

/** Vitest calls this for each project; the first call bundles for all of them. */
export async function setup(): Promise<(() => void) | undefined> {
  if (process.env[PROGRAMS_VARIABLE] !== undefined) return undefined;
  // Inside of the project, so that the programs find the packages that they import.
  const cache = join(root, '.cache');
  mkdirSync(cache, { recursive: true });
  const outdir = mkdtempSync(join(cache, 'test-programs-'));
  process.env[PROGRAMS_VARIABLE] = outdir;
  await build({
    absWorkingDir: root,
    entryPoints: PROGRAMS,
    outdir,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    sourcemap: 'linked',
    logLevel: 'error',
  });
  return () => {
    delete process.env[PROGRAMS_VARIABLE];
    rmSync(outdir, { recursive: true, force: true });
  };
}
