// The start of a cluster, for `cox compile`: what Node has compiled after it is what every cluster
// needs. Nothing is done with it then: more of what is compiled takes every start longer to read,
// and gives the first pod no more than that back.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '#machinery/log.ts';
import { launch } from './launch.ts';

/** Nothing of it stays. Rejects if the cluster does not start. */
export async function warmUp(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'coxswain-compile-'));
  try {
    // Every store that needs no other program; the first one creates certificates, the second one
    // reads them.
    for (const store of ['memory', 'embedded'] as const) {
      const cluster = await launch({
        dataDir,
        securePort: 0,
        bindAddress: '127.0.0.1',
        store,
        runtime: 'simulated',
        nodes: 1,
        serviceCidr: '10.96.0.0/16',
        install: false,
        logger: silentLogger,
        progress: () => undefined,
        signal: new AbortController().signal,
      });
      await cluster.stop();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
