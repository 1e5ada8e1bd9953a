// The folder of `cox envtest`: programs under the names that envtest looks for.

import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * The controllers that run without nodes: garbage collection, and the deletion of namespaces. Other
 * controllers would write to objects that suites compare with their own.
 */
const DEFAULT_CONTROLLERS = ['garbage-collector-controller', 'namespace-controller'] as const;

export interface EnvtestLayout {
  /** Absolute path of bin/cox.js. */
  readonly script: string;
  /** Absolute path of Node. */
  readonly node: string;
  /** Absolute path of kubectl. Absent: the folder has none. */
  readonly kubectl?: string;
}

/** Returns where the folder is if nothing else is asked for: one per version and per place of the package. */
export function defaultEnvtestDir(
  version: string,
  script: string,
  environment: NodeJS.ProcessEnv = process.env,
): string {
  const cache = environment['XDG_CACHE_HOME'] ?? '';
  const root = cache === '' ? join(homedir(), '.cache') : cache;
  const place = createHash('sha256').update(script).digest('hex').slice(0, 8);
  return join(root, 'coxswain', 'envtest', `${version}-${place}`);
}

/**
 * Writes the folder, or brings it up to date, and returns its absolute path. Suites that start
 * meanwhile find whole files.
 */
export function writeEnvtestDir(dir: string, { script, node, kubectl }: EnvtestLayout): string {
  const absolute = resolve(dir);
  mkdirSync(absolute, { recursive: true });
  const cox = `exec ${quoted(node)} ${quoted(script)}`;
  writeProgram(
    absolute,
    'kube-apiserver',
    // ${X-default}: an empty value counts, and means that no controller runs.
    `if [ -n "$COX_ENVTEST_NODES" ]; then default='*'; else default='${DEFAULT_CONTROLLERS.join(',')}'; fi
controllers="\${COX_ENVTEST_CONTROLLERS-$default}"
if [ -n "$controllers" ]; then set -- "$@" "--with-controllers=$controllers"; fi
if [ -n "$COX_ENVTEST_NODES" ]; then set -- "$@" "--with-nodes=$COX_ENVTEST_NODES"; fi
${cox} apiserver "$@" --store=memory`,
  );
  writeProgram(absolute, 'etcd', `${cox} envtest etcd "$@"`);
  if (kubectl !== undefined) link(absolute, 'kubectl', kubectl);
  return absolute;
}

/** Returns a text that a shell reads as one word. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function writeProgram(dir: string, name: string, text: string): void {
  const partial = join(dir, `.${name}.${process.pid}`);
  writeFileSync(partial, `#!/bin/sh\n${text}\n`);
  chmodSync(partial, 0o755);
  renameSync(partial, join(dir, name));
}

function link(dir: string, name: string, target: string): void {
  const partial = join(dir, `.${name}.${process.pid}`);
  if (existsSync(partial)) rmSync(partial);
  symlinkSync(target, partial);
  renameSync(partial, join(dir, name));
}
