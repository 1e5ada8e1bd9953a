// The API server workers of a cluster under load.

import { readFileSync } from 'node:fs';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import type { Target } from '../built-cluster.ts';
import { connectTo } from '../connect.ts';

/** Returns the processes of the workers of a main process. */
export function workerPids(main: number): readonly number[] {
  return readFileSync(`/proc/${main}/task/${main}/children`, 'utf8')
    .split(' ')
    .filter((pid) => pid !== '')
    .map(Number)
    .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('api-worker'));
}

/** Returns the flags of a server with so many workers, all the time. */
export function workerFlags(count: number): readonly string[] {
  return ['--api-server-workers', String(count), '--api-server-workers-min', String(count)];
}

/** Resolves when so many workers serve. */
export async function workersServe(target: Target, count: number): Promise<void> {
  if (count === 0) return;
  await wait.pollImmediately(
    { clock: systemClock, intervalMs: 100, timeoutMs: 120_000 },
    async () => {
      // A new connection each time: only the main process counts workers.
      const { client, close } = connectTo(target);
      try {
        const text = await client.transport.text({ method: 'GET', path: '/metrics' });
        return text.includes(`\ncoxswain_api_server_workers ${count}\n`);
      } finally {
        close();
      }
    },
  );
}
