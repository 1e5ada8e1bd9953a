// Programs and manifests of other projects for the operator tests, from Go's module proxy. `npm run
// operators` builds them once; without them the tests are skipped.

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '#cluster/machine/install.ts';
import { UserError } from '#cluster/user-error.ts';

const moduleDir = fileURLToPath(new URL('.', import.meta.url));
/** COXSWAIN_OPERATORS_CACHE moves the folder. */
const cacheDir =
  process.env['COXSWAIN_OPERATORS_CACHE'] ?? join(homedir(), '.cache', 'coxswain', 'operators');

/**
 * The programs by name: packages of the module beside this file, or of a module with a version of
 * its own.
 */
const PROGRAMS = {
  webapp: './webapp',
  certmanager: './certmanager',
  helm: 'helm.sh/helm/v4/cmd/helm',
  kueue: 'sigs.k8s.io/kueue/cmd/kueue@v0.17.0',
  'metrics-server': 'sigs.k8s.io/metrics-server/cmd/metrics-server@v0.8.0',
} as const;

/** Folders of modules, by the name of their copy. */
const FOLDERS = {
  'cert-manager-chart': [
    'github.com/cert-manager/cert-manager@v1.21.2',
    'deploy/charts/cert-manager',
  ],
  'kueue-chart': ['sigs.k8s.io/kueue@v0.17.0', 'charts/kueue'],
  'gateway-api': ['sigs.k8s.io/gateway-api@v1.6.3', 'config/crd'],
  'gateway-api-examples': ['sigs.k8s.io/gateway-api@v1.6.3', 'examples'],
  'gateway-api-invalid': ['sigs.k8s.io/gateway-api@v1.6.3', 'hack/invalid-examples'],
} as const;

export type Program = keyof typeof PROGRAMS;
export type Folder = keyof typeof FOLDERS;

/** Returns the path of a program or folder, which need not exist. */
export const operatorPath = (name: Program | Folder): string => join(cacheDir, name);

/** Returns why a test cannot run. Undefined: all its programs exist. */
export function missingOperators(names: readonly (Program | Folder)[]): string | undefined {
  const missing = names.filter((name) => !existsSync(operatorPath(name)));
  return missing.length === 0
    ? undefined
    : `not built: ${missing.join(', ')} (npm run operators, with Go 1.26)`;
}

/**
 * Builds and copies the missing programs and folders. Throws a UserError if Go is missing or a
 * build fails.
 */
export function buildOperators(progress: (text: string) => void): void {
  if (findProgram('go') === undefined)
    throw new UserError('there is no `go` in PATH: install Go 1.26 or later (https://go.dev/dl)');
  mkdirSync(cacheDir, { recursive: true });
  for (const [name, [module, folder]] of Object.entries(FOLDERS)) {
    const target = operatorPath(name as Folder);
    if (existsSync(target)) continue;
    progress(`copying ${folder} of ${module}`);
    const { Dir: source } = JSON.parse(go(['mod', 'download', '-json', module])) as { Dir: string };
    cpSync(join(source, folder), `${target}.partial`, { recursive: true });
    renameSync(`${target}.partial`, target);
  }
  for (const [name, path] of Object.entries(PROGRAMS)) {
    const target = operatorPath(name as Program);
    if (existsSync(target)) continue;
    progress(`building ${path}; it takes some minutes, once`);
    build(path, target);
  }
}

function build(path: string, target: string): void {
  const [packagePath = '', version] = path.split('@');
  const flags = ['-p', '1', '-ldflags', '-s -w'];
  if (version === undefined) {
    go(['build', ...flags, '-o', `${target}.partial`, packagePath]);
    renameSync(`${target}.partial`, target);
    return;
  }
  // `go install` uses the dependency versions of that module's own go.mod.
  const folder = `${target}.install`;
  go(['install', ...flags, path], { GOBIN: folder });
  renameSync(join(folder, basename(packagePath)), target);
  rmSync(folder, { recursive: true });
}

function go(args: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const { status, stdout } = spawnSync('go', [...args], {
    cwd: moduleDir,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new UserError(`go ${args.join(' ')} failed`);
  return stdout;
}
