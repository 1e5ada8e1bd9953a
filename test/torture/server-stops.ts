// A server whose disk fails stops, and reports why: runs the program with a sync of its store that
// fails.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FileLayer } from './file-layer.ts';
import { buildCommand } from './server.ts';

/**
 * Within this time, enough syncs happen, and the server stops after the failed one. A node renews
 * its lease every ten seconds.
 */
const TIMEOUT_MS = 60_000;

/** Lets sync `at` of the log fail. Returns the problem with the server's end; undefined: none. */
export async function serverStops(layer: FileLayer, at: number): Promise<string | undefined> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'torture-server-')));
  try {
    const flags = [
      '--store',
      'embedded',
      '--runtime',
      'simulated',
      '--secure-port',
      '0',
      '--data-dir',
      dir,
      '--quiet',
    ];
    const child = spawn(process.execPath, [await buildCommand(), 'up', ...flags], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...process.env,
        ...layer.env({ dir: join(dir, 'store'), fail: `sync:${at}:storage.db-wal` }),
      },
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    let text = '';
    child.stderr.on('data', (chunk: Buffer) => (text += String(chunk)));
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    if (signal !== null) return `it went on, or took too long to stop: ${text.slice(-300)}`;
    if (code !== 1) return `it ended with status ${code}: ${text.slice(-300)}`;
    // The message is one line for a person, not a stack. If the sync fails while the server opens
    // the store, the message is not about a write.
    const last = text.trimEnd().split('\n').at(-1) ?? '';
    return /^cox: .*the store (could not be written|in \S+ cannot be opened: disk I\/O error)/.test(
      last,
    )
      ? undefined
      : `it does not say why: ${text.slice(-300)}`;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
