// Where the worker's program is: beside the bundle in a built package, in TypeScript in the source tree.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

export interface WorkerSource {
  readonly url: URL;
  /** Options for Node that the program needs. */
  readonly execArgv: string[];
}

/** Node says that its SQLite is experimental, each time. */
const QUIET = '--disable-warning=ExperimentalWarning';

export function workerSource(): WorkerSource {
  const built = new URL('./storage-worker.js', import.meta.url);
  if (existsSync(fileURLToPath(built))) return { url: built, execArgv: [QUIET] };
  const url = new URL('./worker.ts', import.meta.url);
  // Newer versions of Node run TypeScript as it is, and faster than any loader.
  if (Reflect.get(process.features, 'typescript')) return { url, execArgv: [QUIET] };
  // A loader given as an option is not heeded in threads, so the thread begins with a module that registers it.
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx/esm')).href;
  const program = `import { register } from 'node:module';
    register(${JSON.stringify(loader)}, { data: {} });
    await import(${JSON.stringify(url.href)});`;
  return { url: new URL(`data:text/javascript,${encodeURIComponent(program)}`), execArgv: [QUIET] };
}
