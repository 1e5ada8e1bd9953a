// Figures of clusters inside a program, as the package is compiled: without the names that `tsx`
// gives every function, which take 1 MB of each cluster and some of its time.

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { note } from '../report.ts';
import { ensurePrograms } from '../versus/programs.ts';
import { upstreamSide } from '../versus/upstream.ts';
import type * as Measure from './measure.ts';

export interface EmbeddedOptions {
  /** Beside upstream's kube-apiserver and etcd, which are built where they are missing. */
  readonly upstream: boolean;
}

export async function embedded({ upstream }: EmbeddedOptions): Promise<void> {
  const upstreamStartMs = upstream ? await upstreamStart() : undefined;
  const { measure } = await compiled();
  await measure({ upstreamStartMs });
}

async function compiled(): Promise<typeof Measure> {
  const outfile = fileURLToPath(new URL('../../.cache/bench-embedded.mjs', import.meta.url));
  await build({
    entryPoints: [fileURLToPath(new URL('./measure.ts', import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    logLevel: 'warning',
  });
  return (await import(outfile)) as typeof Measure;
}

/** Returns the milliseconds until etcd, kube-apiserver, kube-controller-manager and kube-scheduler are ready. */
async function upstreamStart(): Promise<number> {
  const side = await upstreamSide(ensurePrograms(note)).start();
  await side.stop();
  return side.readyMs;
}
