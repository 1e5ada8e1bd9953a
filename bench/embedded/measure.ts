// All figures of clusters inside a program, one file each. bench.ts compiles this file as the
// package is compiled.

import { advance } from './advance.ts';
import { fork } from './fork.ts';
import { idle } from './idle.ts';
import { type StartsOptions, starts } from './starts.ts';

export async function measure({
  upstreamStartMs,
  growthMB,
}: Omit<StartsOptions, 'clusters'>): Promise<void> {
  await advance();
  await starts({ clusters: Number(process.env.STARTS ?? 1000), upstreamStartMs, growthMB });
  await idle({ clusters: Number(process.env.CLUSTERS ?? 200) });
  await fork({
    pods: Number(process.env.PODS ?? 10_000),
    forks: Number(process.env.FORKS ?? 1000),
  });
}
