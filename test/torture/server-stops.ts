// A server whose disk fails stops, and says why: the built program, with a sync of its store that fails.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FileLayer } from './file-layer.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Within this time there are so many syncs, and a server that noticed has stopped. A node renews its lease every ten seconds. */
const PATIENCE_MS = 60_000;

/** Why the program cannot be run; undefined: it can. */
export function missingProgram(): string | undefined {
  return existsSync(join(ROOT, 'dist', 'cox.js')) ? undefined : 'the program is not built (npm run build)';
}

/** Answers what is wrong with how the server ended after sync `at` of its log failed; undefined: nothing. */
export async function serverStops(layer: FileLayer, at: number): Promise<string | undefined> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'torture-server-')));
  try {
    const flags = ['--store', 'embedded', '--runtime', 'simulated', '--secure-port', '0', '--data-dir', dir, '--quiet'];
    const child = spawn(process.execPath, [join(ROOT, 'bin', 'cox.js'), 'up', ...flags], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...layer.env({ dir: join(dir, 'store'), fail: `sync:${at}:storage.db-wal` }) },
      timeout: PATIENCE_MS,
      killSignal: 'SIGKILL',
    });
    let text = '';
    child.stderr.on('data', (chunk: Buffer) => (text += String(chunk)));
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    if (signal !== null) return `it went on, or took too long to stop: ${text.slice(-300)}`;
    if (code !== 1) return `it ended with status ${code}: ${text.slice(-300)}`;
    // One line for a person, not a stack.
    const last = text.trimEnd().split('\n').at(-1) ?? '';
    return /^cox: .*the store could not be written/.test(last) ? undefined : `it does not say why: ${text.slice(-300)}`;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
