// `npm run bench -- scheduler`: the workloads, each in a process of its own, so that none warms the next one up.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { heading } from '../report.ts';
import type { Measured } from './in-process.ts';
import { WORKLOADS, type Workload } from './workloads.ts';

/** Every workload is to reach this many times upstream's floor. */
const TARGET = 3;

export interface ThroughputOptions {
  /** Only workloads whose name has this in it. */
  readonly only?: string;
  readonly nodeFlags?: readonly string[];
}

export async function throughput({ only, nodeFlags = [] }: ThroughputOptions): Promise<void> {
  heading(`scheduler: pods a second, in process with the memory store (target: ${TARGET} times upstream's floor)`);
  const columns = ['nodes', 'pods', 'pods/s', 'floor', 'times', 'in all'];
  console.log(`  ${'workload'.padEnd(40)}${columns.map((name) => name.padStart(8)).join('')}`);
  for (const workload of WORKLOADS) {
    if (only !== undefined && !workload.name.toLowerCase().includes(only.toLowerCase())) continue;
    const measured = await measure(workload, nodeFlags);
    const { pods, seconds, cpuSeconds, heapMB } = measured;
    const rate = asUpstreamCounts(measured);
    const times = rate / workload.floor;
    const cells = [
      String(workload.nodes.count),
      String(pods),
      rate.toFixed(0),
      String(workload.floor),
      times.toFixed(1),
      (pods / seconds).toFixed(0),
    ];
    console.log(
      `  ${workload.name.padEnd(40)}${cells.map((cell) => cell.padStart(8)).join('')}  ${times >= TARGET ? 'met   ' : 'MISSED'}` +
        `  ${((cpuSeconds / pods) * 1e6).toFixed(0)} µs of CPU a pod, ${heapMB.toFixed(0)} MB`,
    );
  }
}

/**
 * Upstream looks once a second, from when it first finds a pod with a node, and leaves out that first look. What comes before (pods
 * being made, others being tried) is in the last column.
 */
function asUpstreamCounts({ pods, seconds, perSecond }: Measured): number {
  const first = Array.from(perSecond).findIndex((count) => (count ?? 0) > 0);
  const left = seconds - (first + 1);
  // Over before there was anything to look at.
  if (left < 0.5) return pods / seconds;
  return (pods - (perSecond[first] ?? 0)) / left;
}

async function measure(workload: Workload, nodeFlags: readonly string[]): Promise<Measured> {
  const child = fork(fileURLToPath(new URL('./one-workload.ts', import.meta.url)), [workload.name], {
    execArgv: [...process.execArgv, '--max-semi-space-size=32', ...nodeFlags],
  });
  const exit = once(child, 'exit');
  let measured: Measured | undefined;
  child.once('message', (message) => (measured = message as Measured));
  const [code] = (await exit) as [number];
  if (measured === undefined) throw new Error(`${workload.name} ended with status ${code}`);
  return measured;
}
