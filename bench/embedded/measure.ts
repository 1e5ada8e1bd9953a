// All figures of clusters inside a program, one file each. bench.ts compiles this file as the
// package is compiled.

import { advance } from './advance.ts';
import { fork } from './fork.ts';
import { idle } from './idle.ts';
import { starts } from './starts.ts';

export interface MeasureOptions {
  /** The start of upstream's programs, in milliseconds, to compare with. */
  readonly upstreamStartMs: number | undefined;
}

export async function measure({ upstreamStartMs }: MeasureOptions): Promise<void> {
  await advance();
  await starts({ clusters: Number(process.env.STARTS ?? 1000), upstreamStartMs });
  await idle({ clusters: Number(process.env.CLUSTERS ?? 200) });
  await fork({
    pods: Number(process.env.PODS ?? 10_000),
    forks: Number(process.env.FORKS ?? 1000),
  });
}
