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
  console.log(
    `  ${'workload'.padEnd(40)}${'nodes'.padStart(7)}${'pods'.padStart(8)}${'pods/s'.padStart(9)}${'floor'.padStart(7)}${'times'.padStart(7)}`,
  );
  for (const workload of WORKLOADS) {
    if (only !== undefined && !workload.name.toLowerCase().includes(only.toLowerCase())) continue;
    const { pods, seconds, cpuSeconds, heapMB } = await measure(workload, nodeFlags);
    const rate = pods / seconds;
    const times = rate / workload.floor;
    console.log(
      `  ${workload.name.padEnd(40)}${String(workload.nodes.count).padStart(7)}${String(pods).padStart(8)}${rate.toFixed(0).padStart(9)}` +
        `${String(workload.floor).padStart(7)}${times.toFixed(1).padStart(7)}  ${times >= TARGET ? 'met' : 'MISSED'}` +
        `  ${((cpuSeconds / pods) * 1e6).toFixed(0)} µs of CPU a pod, ${heapMB.toFixed(0)} MB`,
    );
  }
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
