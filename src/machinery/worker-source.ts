// Locates the programs of worker threads and worker processes: beside the bundle in a built
// package, in a folder that a test run has bundled them into, or in TypeScript in the source tree.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Names the folder with the bundled programs of a test run (tools/test-programs.ts). */
export const PROGRAMS_VARIABLE = 'COXSWAIN_TEST_PROGRAMS';

export interface WorkerSource {
  readonly url: URL;
  /** Options of Node that the program needs. */
  readonly execArgv: string[];
}

/** Suppresses Node's warning that SQLite is experimental. */
const QUIET = '--disable-warning=ExperimentalWarning';

/**
 * Returns the location of a worker's program. `built`: the file in a built package. `source`: its
 * TypeScript.
 */
export function workerSource(built: URL, source: URL): WorkerSource {
  const bundled = bundledProgram(built);
  if (bundled !== undefined) return { url: bundled, execArgv: [QUIET] };
  // Newer versions of Node run TypeScript without a loader, which is faster.
  if (Reflect.get(process.features, 'typescript')) return { url: source, execArgv: [QUIET] };
  // Threads ignore a loader that is given as an option, so the thread starts with a module that
  // registers it.
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx/esm')).href;
  const program = `import { register } from 'node:module';
    register(${JSON.stringify(loader)}, { data: {} });
    await import(${JSON.stringify(source.href)});`;
  return { url: new URL(`data:text/javascript,${encodeURIComponent(program)}`), execArgv: [QUIET] };
}

/**
 * Returns the bundle of a program: the file in a built package, or the one of a test run.
 * Undefined: there is only its TypeScript.
 */
export function bundledProgram(built: URL): URL | undefined {
  const path = fileURLToPath(built);
  if (existsSync(path)) return built;
  const folder = process.env[PROGRAMS_VARIABLE];
  if (folder === undefined) return undefined;
  const ofTests = join(folder, basename(path));
  return existsSync(ofTests) ? pathToFileURL(ofTests) : undefined;
}
