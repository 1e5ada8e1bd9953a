// Figures of clusters inside a program, as the package is compiled: without the names that `tsx`
// gives every function, which take 1 MB of each cluster and some of its time.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
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
  const { measure } = (await import(await compiled('measure'))) as typeof Measure;
  const growth = await compiled('growth');
  await measure({ upstreamStartMs, growthMB: (clusters) => growthMB(growth, clusters) });
}

/** Resolves with the path of a compiled program of this folder. */
async function compiled(name: 'measure' | 'growth'): Promise<string> {
  const outfile = fileURLToPath(
    new URL(`../../.cache/bench-embedded-${name}.mjs`, import.meta.url),
  );
  await build({
    entryPoints: [fileURLToPath(new URL(`./${name}.ts`, import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    logLevel: 'warning',
  });
  return outfile;
}

/** Resolves with the megabytes by which a process without optimized code grows from its 50th start to the last one. */
async function growthMB(program: string, clusters: number): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--no-opt',
    program,
    String(clusters),
  ]);
  return Number(stdout);
}

/** Returns the milliseconds until etcd, kube-apiserver, kube-controller-manager and kube-scheduler are ready. */
async function upstreamStart(): Promise<number> {
  const side = await upstreamSide(ensurePrograms(note)).start();
  await side.stop();
  return side.readyMs;
}
