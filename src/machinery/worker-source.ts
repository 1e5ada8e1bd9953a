// Locates the program of a worker thread: beside the bundle in a built package, in TypeScript in
// the source tree.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

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
  if (existsSync(fileURLToPath(built))) return { url: built, execArgv: [QUIET] };
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
