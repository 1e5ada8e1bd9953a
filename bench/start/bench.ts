// How long the built program takes from its first instruction until the cluster is ready, and what it uses when nothing is asked
// of it.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/machinery/clock.ts';
import { BuiltCluster } from '../built-cluster.ts';
import { cpuMs, residentMB } from '../process-usage.ts';
import { heading, show } from '../report.ts';

const FLAGS = ['--store', 'memory', '--runtime', 'simulated'];
/** How long it is left alone before its memory is looked at. */
const SETTLE_MS = 10_000;

export async function start({ rounds }: { readonly rounds: number }): Promise<void> {
  heading('start: memory store, one simulated node');
  const first: BuiltCluster[] = [];
  const again: BuiltCluster[] = [];
  for (let i = 0; i < rounds; i++) {
    const dataDir = mkdtempSync(join(tmpdir(), 'coxswain-bench-'));
    for (const clusters of [first, again]) {
      const cluster = await BuiltCluster.start({ flags: FLAGS, dataDir });
      await cluster.stop();
      clusters.push(cluster);
    }
    rmSync(dataDir, { recursive: true, force: true });
  }
  const seconds = (ms: number): number => ms / 1000;
  show({
    what: 'ready, certificates to be made',
    unit: 's',
    values: first.map(({ readyMs }) => seconds(readyMs)),
    goal: { atMost: 1 },
  });
  show({
    what: 'ready, certificates there',
    unit: 's',
    values: again.map(({ readyMs }) => seconds(readyMs)),
    goal: { atMost: 0.6 },
  });
  show({ what: '  from the command to the line, as seen', unit: 's', values: again.map(({ wallMs }) => seconds(wallMs)) });
  await idle();
}

async function idle(): Promise<void> {
  const cluster = await BuiltCluster.start({ flags: FLAGS });
  try {
    await systemClock.sleep(SETTLE_MS);
    const cpu = cpuMs(cluster.pid);
    await systemClock.sleep(SETTLE_MS);
    show({ what: 'resident at rest', unit: 'MB', values: [residentMB(cluster.pid)], goal: { atMost: 120 } });
    show({ what: '  CPU at rest', unit: 'ms/s', values: [(cpuMs(cluster.pid) - cpu) / (SETTLE_MS / 1000)] });
  } finally {
    await cluster.stop();
  }
}
