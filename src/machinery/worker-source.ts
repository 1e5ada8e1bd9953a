// Where a thread's program is: beside the bundle in a built package, in TypeScript in the source tree.

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

/** `built`: where it is in a built package; `source`: its TypeScript. */
export function workerSource(built: URL, source: URL): WorkerSource {
  if (existsSync(fileURLToPath(built))) return { url: built, execArgv: [QUIET] };
  // Newer versions of Node run TypeScript as it is, and faster than any loader.
  if (Reflect.get(process.features, 'typescript')) return { url: source, execArgv: [QUIET] };
  // A loader given as an option is not heeded in threads, so the thread begins with a module that registers it.
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx/esm')).href;
  const program = `import { register } from 'node:module';
    register(${JSON.stringify(loader)}, { data: {} });
    await import(${JSON.stringify(source.href)});`;
  return { url: new URL(`data:text/javascript,${encodeURIComponent(program)}`), execArgv: [QUIET] };
}
