// `npm run bench -- scheduler`: the workloads, each in a process of its own, so that none warms the next one up; then single
// decisions. What was found is printed, kept (results.json), and written to ../README.md and the charts.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { heading, note } from '../report.ts';
import { decide, type Decisions } from './decide.ts';
import type { Measured } from './drive.ts';
import { runEndToEnd } from './end-to-end.ts';
import { END_TO_END_TARGET, merged, P99_TARGET_MS, readResults, TARGET, type Throughput, writeResults } from './results.ts';
import { scaled, WORKLOADS, type Workload } from './workloads.ts';

export interface ThroughputOptions {
  /** Only workloads whose name has this in it. */
  readonly only?: string;
  /** Through `cox up` in a process of its own, over TLS, with the embedded store, instead of in process. */
  readonly endToEnd?: boolean;
  /** Of nodes and pods. With less than 1 it is only a try: nothing is written. Default: 1. */
  readonly scale?: number;
  readonly nodeFlags?: readonly string[];
}

/** For single decisions: nodes, and how many pods. */
const DECISIONS = [
  [100, 2000],
  [1000, 5000],
  [5000, 10_000],
  [20_000, 5000],
] as const;

export async function throughput({ only, endToEnd = false, scale = 1, nodeFlags = [] }: ThroughputOptions): Promise<void> {
  // End to end, unless asked for others: the one that has a target.
  const wanted = only ?? (endToEnd ? END_TO_END_TARGET.workload : '');
  const chosen = WORKLOADS.filter(({ name }) =>
    only === undefined && endToEnd ? name === wanted : name.toLowerCase().includes(wanted.toLowerCase()),
  );
  const measured = await workloads(chosen, endToEnd, scale, nodeFlags);
  const decisions = only === undefined && !endToEnd ? decisionTimes(scale) : [];
  if (scale !== 1) {
    note('only a try: nothing is written');
    return;
  }
  const before = readResults();
  const order = WORKLOADS.map(({ name }) => name);
  writeResults({
    machine: `${process.platform}, ${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), Node ${process.versions.node}`,
    inProcess: endToEnd ? before.inProcess : merged(before.inProcess, measured, order),
    endToEnd: endToEnd ? merged(before.endToEnd, measured, order) : before.endToEnd,
    decisions: decisions.length > 0 ? decisions : before.decisions,
  });
}

async function workloads(
  chosen: readonly Workload[],
  endToEnd: boolean,
  scale: number,
  nodeFlags: readonly string[],
): Promise<readonly Throughput[]> {
  heading(
    endToEnd
      ? `scheduler: pods a second, end to end over TLS with the embedded store (target: ${END_TO_END_TARGET.rate} for ${END_TO_END_TARGET.workload})`
      : `scheduler: pods a second, in process with the memory store (target: ${TARGET} times upstream's floor)`,
  );
  const columns = ['nodes', 'pods', 'pods/s', 'floor', 'times', 'in all'];
  console.log(`  ${'workload'.padEnd(40)}${columns.map((name) => name.padStart(8)).join('')}`);
  const results: Throughput[] = [];
  for (const workload of chosen) {
    const smaller = scaled(workload, scale);
    const measured = endToEnd ? await runEndToEnd(smaller, nodeFlags) : await inOwnProcess(smaller, scale, nodeFlags);
    const { pods, seconds, cpuSeconds, memoryMB, p99Ms } = measured;
    const rate = asUpstreamCounts(measured);
    const { name, floor } = workload;
    results.push({
      workload: name,
      nodes: smaller.nodes.count,
      pods,
      rate,
      overall: pods / seconds,
      floor,
      cpuMicrosPerPod: (cpuSeconds / pods) * 1e6,
      memoryMB,
      p99Ms,
    });
    const goal = !endToEnd ? TARGET * floor : name === END_TO_END_TARGET.workload ? END_TO_END_TARGET.rate : undefined;
    const cells = [smaller.nodes.count, pods, rate, floor].map((cell) => cell.toFixed(0));
    cells.push((rate / floor).toFixed(1), (pods / seconds).toFixed(0));
    console.log(
      `  ${name.padEnd(40)}${cells.map((cell) => cell.padStart(8)).join('')}  ${goal === undefined ? '' : rate >= goal ? 'met   ' : 'MISSED'}` +
        `  ${((cpuSeconds / pods) * 1e6).toFixed(0)} µs of CPU a pod, ${memoryMB.toFixed(0)} MB, p99 of a cycle ${p99Ms.toFixed(1)} ms`,
    );
  }
  return results;
}

function decisionTimes(scale: number): readonly Decisions[] {
  heading(`scheduler: one decision (target: p99 ${P99_TARGET_MS} ms or less; grows less than the nodes do)`);
  // What the first ones compile is not theirs.
  decide({ nodes: 100, pods: 1000 });
  return DECISIONS.map(([nodes, pods]) => {
    const found = decide({ nodes: Math.ceil(nodes * scale), pods: Math.ceil(pods * scale) });
    const verdict = found.p99 <= P99_TARGET_MS ? 'met' : 'MISSED';
    note(
      `${String(found.nodes).padStart(6)} nodes: ${found.perSecond.toFixed(0).padStart(6)}/s, p50 ${(found.p50 * 1000).toFixed(0)} µs, p99 ${found.p99.toFixed(2)} ms ${verdict}`,
    );
    return found;
  });
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

async function inOwnProcess({ name }: Workload, scale: number, nodeFlags: readonly string[]): Promise<Measured> {
  const child = fork(fileURLToPath(new URL('./one-workload.ts', import.meta.url)), [name, String(scale)], {
    execArgv: [...process.execArgv, '--max-semi-space-size=32', ...nodeFlags],
  });
  const exit = once(child, 'exit');
  let measured: Measured | undefined;
  child.once('message', (message) => (measured = message as Measured));
  const [code] = (await exit) as [number];
  if (measured === undefined) throw new Error(`${name} ended with status ${code}`);
  return measured;
}
