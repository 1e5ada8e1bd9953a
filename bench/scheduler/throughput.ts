// `npm run bench -- scheduler`: runs the workloads, each in a process of its own, so that none
// warms the next one up; then single decisions. Each result is printed, kept (results.json), and
// written to results.md and the charts at once: a run may be stopped at any time, and continued.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { NODE_FLAGS } from '../built-cluster.ts';
import { endedWithRun } from '../clean-up.ts';
import { heading, note } from '../report.ts';
import { decide, type Decisions } from './decide.ts';
import type { Measured } from './drive.ts';
import { runEndToEnd } from './end-to-end.ts';
import {
  END_TO_END_TARGET,
  merged,
  P99_TARGET_MS,
  readResults,
  type Results,
  TARGET,
  type Throughput,
  writeResults,
} from './results.ts';
import { scaled, WORKLOADS, type Workload } from './workloads.ts';

export interface ThroughputOptions {
  /** Only workloads whose name contains this text. */
  readonly only?: string;
  /**
   * Runs `cox up` in a process of its own, over TLS, with the embedded store, instead of in
   * process.
   */
  readonly endToEnd?: boolean;
  /** Leaves out workloads that have results. Default: false, all are measured anew. */
  readonly goOn?: boolean;
  /**
   * The factor for the numbers of nodes and pods. A run with less than 1 is a try: nothing is
   * written. Default: 1.
   */
  readonly scale?: number;
  readonly nodeFlags?: readonly string[];
}

/** The directory is within the package, so that modules that are not bundled are found. */
const CACHE_DIR = fileURLToPath(new URL('../../.cache/', import.meta.url));

/** The numbers of nodes and pods for single decisions. */
const DECISIONS = [
  [100, 2000],
  [1000, 5000],
  [5000, 10_000],
  [20_000, 5000],
] as const;

export async function throughput(options: ThroughputOptions): Promise<void> {
  const { only, endToEnd = false, goOn = false, scale = 1, nodeFlags = [] } = options;
  const write = scale === 1;
  const which = endToEnd ? 'endToEnd' : 'inProcess';
  const known = readResults();
  const done = new Set(goOn ? known[which].map(({ workload }) => workload) : []);
  const chosen = WORKLOADS.filter(({ name }) => isWanted(name, only) && !done.has(name));
  const before =
    only === undefined && !goOn
      ? { ...known, [which]: [], ...(!endToEnd && { decisions: [] }) }
      : known;
  let results: Results = {
    ...before,
    machine:
      `${process.platform}, ${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ` +
      `Node ${process.versions.node}`,
  };
  const keep = (more: Partial<Results>): void => {
    results = { ...results, ...more };
    if (write) writeResults(results);
  };

  introduce(endToEnd);
  for (const workload of chosen) {
    const smaller = scaled(workload, scale);
    const began = performance.now();
    const measured = endToEnd
      ? await runEndToEnd(smaller, nodeFlags)
      : await inOwnProcess(smaller, scale, nodeFlags);
    const found = resultOf(smaller, measured);
    show(found, endToEnd, (performance.now() - began) / 1000);
    keep({ [which]: merged(results[which], [found], ORDER) });
  }
  if (only === undefined && !endToEnd && results.decisions.length === 0)
    keep({ decisions: decisionTimes(scale) });
  if (!write) note('only a try: nothing is written');
}

const ORDER = WORKLOADS.map(({ name }) => name);

function isWanted(name: string, only: string | undefined): boolean {
  return only === undefined || name.toLowerCase().includes(only.toLowerCase());
}

function resultOf(
  { name, floor, nodes, theOneNode = false }: Workload,
  measured: Measured,
): Throughput {
  const { pods, seconds, cpuSeconds, memoryMB, p99Ms } = measured;
  return {
    workload: name,
    nodes: nodes.count + Number(theOneNode),
    pods,
    rate: asUpstreamCounts(measured),
    overall: pods / seconds,
    floor,
    cpuMicrosPerPod: (cpuSeconds / pods) * 1e6,
    memoryMB,
    p99Ms,
  };
}

function introduce(endToEnd: boolean): void {
  heading(
    endToEnd
      ? 'scheduler: pods a second, end to end over TLS with the embedded store (target: ' +
          `${END_TO_END_TARGET.rate} for ${END_TO_END_TARGET.workload})`
      : `scheduler: pods a second, in process with the memory store (target: ${TARGET} times upstream's floor)`,
  );
  const columns = ['nodes', 'pods', 'pods/s', 'floor', 'times', 'in all'];
  console.log(`  ${'workload'.padEnd(40)}${columns.map((name) => name.padStart(8)).join('')}`);
}

/** Prints one result. `seconds`: the complete time, with the creation of the nodes. */
function show(found: Throughput, endToEnd: boolean, seconds: number): void {
  const { workload, nodes, pods, rate, floor, overall, cpuMicrosPerPod, memoryMB, p99Ms } = found;
  const goal = !endToEnd
    ? TARGET * floor
    : workload === END_TO_END_TARGET.workload
      ? END_TO_END_TARGET.rate
      : undefined;
  const cells = [nodes, pods, rate, floor].map((cell) => cell.toFixed(0));
  cells.push((rate / floor).toFixed(1), overall.toFixed(0));
  console.log(
    `  ${workload.padEnd(40)}${cells.map((cell) => cell.padStart(8)).join('')}  ` +
      (goal === undefined ? '' : rate >= goal ? 'met   ' : 'MISSED') +
      `  ${cpuMicrosPerPod.toFixed(0)} µs of CPU a pod, ${memoryMB.toFixed(0)} MB, p99 of a ` +
      `cycle ${p99Ms.toFixed(1)} ms; all of it ${seconds.toFixed(0)} s`,
  );
}

function decisionTimes(scale: number): readonly Decisions[] {
  heading(
    `scheduler: one decision (target: p99 ${P99_TARGET_MS} ms or less; grows less than the nodes do)`,
  );
  // A first run compiles the code, so that the measured ones do not.
  decide({ nodes: 100, pods: 1000 });
  return DECISIONS.map(([nodes, pods]) => {
    const found = decide({ nodes: Math.ceil(nodes * scale), pods: Math.ceil(pods * scale) });
    const verdict = found.p99 <= P99_TARGET_MS ? 'met' : 'MISSED';
    note(
      `${String(found.nodes).padStart(6)} nodes: ${found.perSecond.toFixed(0).padStart(6)}/s,` +
        ` p50 ${(found.p50 * 1000).toFixed(0)} µs, p99 ${found.p99.toFixed(2)} ms ${verdict}`,
    );
    return found;
  });
}

/**
 * Returns the throughput as upstream counts it. Upstream counts once a second, from the second in
 * which it first finds a pod with a node, and leaves out that first count. The whole time (pods
 * being created, unschedulable pods being tried) is in the last column.
 */
function asUpstreamCounts({ pods, seconds, perSecond }: Measured): number {
  const first = Array.from(perSecond).findIndex((count) => (count ?? 0) > 0);
  const left = seconds - (first + 1);
  // The run ended before upstream's first count.
  if (left < 0.5) return pods / seconds;
  return (pods - (perSecond[first] ?? 0)) / left;
}

/**
 * Bundles the workload into one script, like the product: a runner of TypeScript sources wraps
 * every function in them. Returns the script's path.
 */
async function bundledWorkload(): Promise<string> {
  const outfile = join(CACHE_DIR, `one-workload-${process.pid}.js`);
  if (existsSync(outfile)) return outfile;
  process.on('exit', () => rmSync(outfile, { force: true }));
  await build({
    entryPoints: [fileURLToPath(new URL('./one-workload.ts', import.meta.url))],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    logLevel: 'error',
  });
  return outfile;
}

async function inOwnProcess(
  { name }: Workload,
  scale: number,
  nodeFlags: readonly string[],
): Promise<Measured> {
  const child = fork(await bundledWorkload(), [name, String(scale)], {
    execArgv: [...NODE_FLAGS, ...nodeFlags],
  });
  endedWithRun(child);
  const exit = once(child, 'exit');
  let measured: Measured | undefined;
  child.once('message', (message) => (measured = message as Measured));
  const [code] = (await exit) as [number];
  if (measured === undefined) throw new Error(`${name} ended with status ${code}`);
  return measured;
}
