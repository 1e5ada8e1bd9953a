// Keeps the last results of each workload (results.json beside this file), and makes the tables of
// results.md and the charts.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { barChart, logLineChart } from '../chart.ts';
import type { Decisions } from './decide.ts';

export interface Throughput {
  readonly workload: string;
  readonly nodes: number;
  readonly pods: number;
  /** Pods per second, as upstream counts them, and overall. */
  readonly rate: number;
  readonly overall: number;
  readonly floor: number;
  readonly cpuMicrosPerPod: number;
  readonly memoryMB: number;
  /** The 99th percentile of the time of one scheduling decision. */
  readonly p99Ms: number;
}

export interface Results {
  readonly machine: string;
  readonly inProcess: readonly Throughput[];
  readonly endToEnd: readonly Throughput[];
  readonly decisions: readonly Decisions[];
}

/** The goal of every workload in process, as a multiple of upstream's floor. */
export const TARGET = 3;
/** The goal of this workload end to end, in pods per second. */
export const END_TO_END_TARGET = { workload: 'SchedulingBasic', rate: 1000 } as const;
export const P99_TARGET_MS = 5;

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const NOTHING: Results = { machine: '', inProcess: [], endToEnd: [], decisions: [] };
const [BEGIN, END] = ['<!-- scheduler: begin -->', '<!-- scheduler: end -->'];

export function readResults(): Results {
  const file = path('./results.json');
  return existsSync(file)
    ? { ...NOTHING, ...(JSON.parse(readFileSync(file, 'utf8')) as Partial<Results>) }
    : NOTHING;
}

/** Returns the results, where new results of a workload replace its old ones. */
export function merged(
  before: readonly Throughput[],
  now: readonly Throughput[],
  order: readonly string[],
): readonly Throughput[] {
  const byName = new Map([...before, ...now].map((one) => [one.workload, one]));
  return order.flatMap((name) => byName.get(name) ?? []);
}

export function writeResults(results: Results): void {
  writeFileSync(path('./results.json'), `${JSON.stringify(results, undefined, 2)}\n`);
  writeFileSync(path('./throughput.svg'), throughputChart(results));
  writeFileSync(path('./nodes.svg'), nodesChart(results));
  const readme = path('results.md');
  writeFileSync(readme, between(readFileSync(readme, 'utf8'), tables(results)));
}

/**
 * Returns the text with the part between the markers replaced. Appends the part if there are no
 * markers yet.
 */
export function between(text: string, content: string): string {
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) return `${text.trimEnd()}\n\n${BEGIN}\n${content}${END}\n`;
  return `${text.slice(0, begin)}${BEGIN}\n${content}${text.slice(end)}`;
}

export function tables({ machine, inProcess, endToEnd, decisions }: Results): string {
  const count = (value: number): string => Math.round(value).toLocaleString('en');
  const table = (columns: readonly string[], rows: readonly (readonly string[])[]): string =>
    `${[columns, columns.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')}\n\n`;
  const parts = [
    `Scheduler: last measured on ${machine}.\n\n![Throughput](scheduler/throughput.svg)\n\n`,
  ];
  if (inProcess.length > 0) {
    parts.push(
      table(
        [
          'in process, memory store',
          'nodes',
          'pods',
          'pods/s',
          "upstream's floor",
          'times',
          'p99 of a cycle',
          'CPU a pod',
          'heap',
        ],
        inProcess.map(
          ({ workload, nodes, pods, rate, floor, cpuMicrosPerPod, memoryMB, p99Ms }) => [
            workload,
            count(nodes),
            count(pods),
            count(rate),
            count(floor),
            rate >= TARGET * floor ? (rate / floor).toFixed(1) : `**${(rate / floor).toFixed(1)}**`,
            p99Text(p99Ms),
            `${count(cpuMicrosPerPod)} µs`,
            `${count(memoryMB)} MB`,
          ],
        ),
      ),
    );
  }
  if (endToEnd.length > 0) {
    parts.push(
      table(
        [
          'end to end: TLS, embedded store',
          'nodes',
          'pods',
          'pods/s',
          "times upstream's floor",
          'p99 of a cycle',
          'CPU a pod, both processes',
          'resident',
        ],
        endToEnd.map(({ workload, nodes, pods, rate, floor, cpuMicrosPerPod, memoryMB, p99Ms }) => [
          workload,
          count(nodes),
          count(pods),
          count(rate),
          (rate / floor).toFixed(1),
          p99Text(p99Ms),
          `${count(cpuMicrosPerPod)} µs`,
          `${count(memoryMB)} MB`,
        ]),
      ),
    );
  }
  if (decisions.length > 0) {
    parts.push(
      '![Cost of a decision by nodes](scheduler/nodes.svg)\n\n',
      table(
        ['one decision', 'pods', 'decisions/s', 'p50', 'p99'],
        decisions.map(({ nodes, pods, perSecond, p50, p99 }) => [
          `${count(nodes)} nodes`,
          count(pods),
          count(perSecond),
          `${count(p50 * 1000)} µs`,
          p99Text(p99),
        ]),
      ),
    );
  }
  return parts.join('');
}

function p99Text(ms: number): string {
  return ms <= P99_TARGET_MS ? `${ms.toFixed(1)} ms` : `**${ms.toFixed(1)} ms**`;
}

function throughputChart({ inProcess }: Results): string {
  return barChart({
    title: "Pods a second in process, as times upstream's floor",
    bars: inProcess.map(({ workload, rate, floor }) => ({
      label: workload,
      value: rate / floor,
      text: `${(rate / floor).toFixed(1)} (${Math.round(rate).toLocaleString('en')}/s)`,
    })),
    goal: { value: TARGET, text: `goal: ${TARGET} times` },
  });
}

function nodesChart({ decisions }: Results): string {
  return logLineChart({
    title: 'One decision, median, by the number of nodes',
    points: decisions.map(({ nodes, p50 }) => ({
      x: nodes,
      y: p50,
      text: `${Math.round(p50 * 1000)} µs`,
    })),
    xLabel: 'nodes',
  });
}
