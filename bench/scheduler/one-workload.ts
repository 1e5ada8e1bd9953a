// Runs one workload, named by the first argument and scaled by the second, for the parent process.
// It is also the program of the scheduler's thread.

import { isMainThread } from 'node:worker_threads';
import { runInProcess } from './in-process.ts';
import { runSchedulerThread } from './scheduler-thread.ts';
import { scaled, WORKLOADS } from './workloads.ts';

async function runWorkload(): Promise<void> {
  const [, , name, scale = '1'] = process.argv;
  const workload = WORKLOADS.find((one) => one.name === name);
  if (workload === undefined) throw new Error(`there is no workload ${name}`);
  const measured = await runInProcess(scaled(workload, Number(scale)));
  if (process.send === undefined) console.log(measured);
  else process.send(measured, () => process.disconnect());
}

await (isMainThread ? runWorkload() : runSchedulerThread());
