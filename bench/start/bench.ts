// Measures the start of the built program, from its first instruction until the cluster is ready,
// and its memory and processor time while it gets no requests. Measures a program with an embedded
// cluster, too.

import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '#machinery/clock.ts';
import { BuiltCluster, PROGRAM } from '../built-cluster.ts';
import { temporaryDirectory } from '../clean-up.ts';
import { mainThreadMs, residentMB, threadsMs } from '../process-usage.ts';
import { heading, show } from '../report.ts';

const FLAGS = ['--store', 'memory', '--runtime', 'simulated'];
/** The cluster is left alone for this time before its memory is read. */
const SETTLE_MS = 10_000;

export async function start({ rounds }: { readonly rounds: number }): Promise<void> {
  heading('start: memory store, one simulated node');
  const first: BuiltCluster[] = [];
  const again: BuiltCluster[] = [];
  const mainThread: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const dataDir = temporaryDirectory('coxswain-bench-');
    for (const clusters of [first, again]) {
      const cluster = await BuiltCluster.start({ flags: FLAGS, dataDir });
      if (clusters === again) mainThread.push(mainThreadMs(cluster.pid));
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
  show({
    what: '  from the command to the line, as seen',
    unit: 's',
    values: again.map(({ wallMs }) => seconds(wallMs)),
  });
  show({ what: '  CPU of its main thread until then', unit: 's', values: mainThread.map(seconds) });
  await idle();
  embedded(rounds);
}

const EMBEDDING = `
const began = performance.now();
const { startCluster } = await import(process.argv[1]);
const imported = performance.now();
const cluster = await startCluster({ nodes: 1 });
const started = performance.now();
await cluster.stop();
const { user, system } = process.cpuUsage();
const stopped = performance.now();
console.log(
  JSON.stringify([imported - began, started - imported, stopped - started, (user + system) / 1000]),
);
process.exit();`;

/** Measures a process that imports the package, starts a cluster and stops it, as a test does. */
function embedded(rounds: number): void {
  heading('start: import and startCluster({ nodes: 1 })');
  const program = join(dirname(PROGRAM), 'index.js');
  const runs: number[][] = [];
  for (let i = 0; i < rounds; i++) {
    const text = execFileSync(
      process.execPath,
      ['--input-type=module', '--eval', EMBEDDING, program],
      {
        encoding: 'utf8',
      },
    );
    runs.push((JSON.parse(text) as number[]).map((ms) => ms / 1000));
  }
  ['import', 'start', 'stop', '  CPU of the whole process'].forEach((what, index) =>
    show({ what, unit: 's', values: runs.map((run) => run[index]!) }),
  );
}

async function idle(): Promise<void> {
  const cluster = await BuiltCluster.start({ flags: FLAGS });
  try {
    await systemClock.sleep(SETTLE_MS);
    const cpu = threadsMs(cluster.pid);
    await systemClock.sleep(SETTLE_MS);
    show({
      what: 'resident at rest',
      unit: 'MB',
      values: [residentMB(cluster.pid)],
      goal: { atMost: 120 },
    });
    show({
      what: '  CPU at rest',
      unit: 'ms/s',
      values: [(threadsMs(cluster.pid) - cpu) / (SETTLE_MS / 1000)],
    });
  } finally {
    await cluster.stop();
  }
}
