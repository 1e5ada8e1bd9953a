// The figures of a cluster of some size that have goals: times and rates, which depend on the load
// of the machine, and memory.

import { show } from '../report.ts';
import type { Size } from './costs.ts';

type Goal = { readonly atLeast: number } | { readonly atMost: number };

/** Each figure: what it is, its unit, and its goals up to 150,000 pods and beyond. */
const FIGURES = {
  changeP99: ['change of a pod, p99', 'ms', { atMost: 100 }, undefined],
  creationP99: ['creation of a Deployment under load, p99', 'ms', { atMost: 100 }, undefined],
  listSeconds: ['list of all pods', 's', { atMost: 3 }, undefined],
  podStartP99: ['pod start, p99', 'ms', { atMost: 1000 }, undefined],
  peakMB: ['resident, at most', 'MB', { atMost: 6000 }, { atMost: 16_000 }],
  restPercent: ['at rest', '% core', { atMost: 10 }, undefined],
  restartSeconds: ['restart to ready', 's', { atMost: 15 }, undefined],
  restartCpuSeconds: ["  CPU of the API server's thread", 's', { atMost: 15 }, undefined],
  availablePerSecond: ['Deployments to available', 'pods/s', { atLeast: 1000 }, { atLeast: 500 }],
  boundPerSecond: ['  pods bound meanwhile, busiest 10 s', 'pods/s', undefined, undefined],
} as const satisfies Readonly<
  Record<string, readonly [string, string, Goal | undefined, Goal | undefined]>
>;

export type FigureName = keyof typeof FIGURES;
/** The figures that were measured. */
export type Figures = Readonly<Partial<Record<FigureName, number>>>;

/** The largest number of pods for which the first goals hold: upstream's supported limit. */
const SUPPORTED_PODS = 150_000;

/** Prints the figures of a size with their goals. */
export function showGoals({ pods }: Size, figures: Figures): void {
  for (const [name, [what, unit, supported, beyond]] of Object.entries(FIGURES)) {
    const value = figures[name as FigureName];
    if (value === undefined) continue;
    const goal = pods <= SUPPORTED_PODS ? supported : beyond;
    show({ what, unit, values: [value], ...(goal !== undefined && { goal }) });
  }
}
