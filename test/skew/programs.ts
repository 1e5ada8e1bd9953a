// Builds programs of other versions of Kubernetes than the server's, from their published modules.
// Each version needs a Go module of its own. It is made of the version's own go.mod, in which the
// parts that are published apart have their directories in the source tree; here, their versions.

import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '#cluster/machine/install.ts';
import { UserError } from '#cluster/user-error.ts';
import { linkFlags } from '../conformance/binaries.ts';

/** kubemark is the kubelet with a runtime that only pretends to run containers. */
export type SkewProgram = 'kubectl' | 'kubelet' | 'kubemark';

/** Two versions before the server's. */
export const OLDEST_KUBELET = 'v1.34.4';

/** The programs of other versions that tests use. */
export const skewPrograms: readonly {
  readonly version: string;
  readonly programs: readonly SkewProgram[];
}[] = [
  { version: OLDEST_KUBELET, programs: ['kubectl', 'kubelet', 'kubemark'] },
  { version: 'v1.35.4', programs: ['kubectl'] },
  { version: 'v1.37.2', programs: ['kubectl'] },
];

/** Returns the folder with a folder for each version. COXSWAIN_SKEW_CACHE moves it. */
export const skewCacheDir = (): string =>
  process.env['COXSWAIN_SKEW_CACHE'] ?? join(homedir(), '.cache', 'coxswain', 'skew');

/** Returns the path of a program, which may not have been built. */
export const skewProgram = (version: string, program: SkewProgram): string =>
  join(skewCacheDir(), version, program);

/**
 * Returns the go.mod of a module that builds programs of Kubernetes `version`, such as v1.34.4,
 * from the go.mod of k8s.io/kubernetes of that version.
 */
export function skewModule(version: string, published: string): string {
  const partsVersion = version.replace(/^v1\./, 'v0.');
  return published
    .replace(/^module .*$/m, 'module coxswain.dev/skew')
    .replaceAll(/=> \.\/staging\/src\/(\S+)$/gm, `=> $1 ${partsVersion}`)
    .replaceAll(/^(?:tool|ignore) (?:\([^)]*\)|\S+)$/gm, '')
    .concat(`\nrequire k8s.io/kubernetes ${version}\n`);
}

/** Builds a program unless it exists; returns its path. Throws a UserError if that fails. */
export function ensureSkewProgram(
  version: string,
  program: SkewProgram,
  progress: (text: string) => void,
): string {
  const path = skewProgram(version, program);
  if (existsSync(path)) return path;
  if (findProgram('go') === undefined)
    throw new UserError(`there is no \`go\` in PATH, which builds ${program} ${version}`);
  progress(`building ${path}, once; it takes some minutes`);
  const module = join(skewCacheDir(), version, 'module');
  mkdirSync(module, { recursive: true });
  const source = (
    JSON.parse(go(module, 'mod', 'download', '-json', `k8s.io/kubernetes@${version}`)) as {
      readonly Dir: string;
    }
  ).Dir;
  const published = readFileSync(join(source, 'go.mod'), 'utf8');
  writeFileSync(join(module, 'go.mod'), skewModule(version, published));
  copyFileSync(join(source, 'go.sum'), join(module, 'go.sum'));
  const partial = `${path}.partial`;
  const target = `k8s.io/kubernetes/cmd/${program}`;
  go(module, 'build', '-mod=mod', '-p', '1', '-ldflags', linkFlags(version), '-o', partial, target);
  renameSync(partial, path);
  return path;
}

/** Runs go in a module. Programs are static. */
function go(module: string, ...args: readonly string[]): string {
  const { status, stdout } = spawnSync('go', args, {
    cwd: module,
    env: { ...process.env, CGO_ENABLED: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  if (status !== 0) throw new UserError(`go ${args.join(' ')} failed`);
  return stdout;
}
