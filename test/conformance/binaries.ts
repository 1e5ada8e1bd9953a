// Builds upstream's programs from its published Go module: the suite, the ginkgo that runs it in
// parallel, and the kubectl that it calls. The programs and Go's cache stay outside of the
// repository; one build serves until go.mod names another version.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '#cluster/machine/install.ts';
import { readNeeds, testKey } from './needs.ts';
import { UserError } from '#cluster/user-error.ts';

const moduleDir = fileURLToPath(new URL('.', import.meta.url));
/** etcd has a module of its own, since it needs other versions of shared dependencies. */
const etcdModuleDir = join(moduleDir, 'etcd');
const ETCD_PACKAGE = 'go.etcd.io/etcd/server/v3';

export interface Binaries {
  /** The version of Kubernetes, such as v1.36.3. */
  readonly version: string;
  readonly suite: string;
  readonly ginkgo: string;
  readonly kubectl: string;
}

/** Returns the version of Kubernetes that go.mod requires. */
export function requiredVersion(goMod = readFileSync(join(moduleDir, 'go.mod'), 'utf8')): string {
  const version = /^(?:require |\t)k8s\.io\/kubernetes (v\S+)$/m.exec(goMod)?.[1];
  if (version === undefined)
    throw new Error('test/conformance/go.mod does not require k8s.io/kubernetes');
  return version;
}

const binariesOf = (version: string, dir: string): Binaries => ({
  version,
  suite: join(dir, 'e2e.test'),
  ginkgo: join(dir, 'ginkgo'),
  kubectl: join(dir, 'kubectl'),
});

/** Returns the folder of this version's programs. COXSWAIN_CONFORMANCE_CACHE moves it. */
export function cacheDir(version: string): string {
  const root =
    process.env['COXSWAIN_CONFORMANCE_CACHE'] ??
    join(homedir(), '.cache', 'coxswain', 'conformance');
  return join(root, version);
}

/** Returns undefined if the programs have not been built yet. */
export function builtBinaries(): Binaries | undefined {
  const version = requiredVersion();
  const binaries = binariesOf(version, cacheDir(version));
  return [binaries.suite, binaries.ginkgo, binaries.kubectl].every((path) => existsSync(path))
    ? binaries
    : undefined;
}

/** Builds the missing programs. Throws a UserError if Go is missing or a build fails. */
export function ensureBinaries(progress: (text: string) => void): Binaries {
  const built = builtBinaries();
  if (built !== undefined) return built;
  const version = requiredVersion();
  const binaries = binariesOf(version, cacheDir(version));
  build(binaries.ginkgo, ['build', 'github.com/onsi/ginkgo/v2/ginkgo'], progress);
  build(binaries.kubectl, ['build', 'k8s.io/kubernetes/cmd/kubectl'], progress);
  build(binaries.suite, ['test', '-c', 'k8s.io/kubernetes/test/e2e'], progress);
  return binaries;
}

/** Returns a program of upstream, such as kube-apiserver; undefined if it has not been built yet. */
export function builtCommand(name: string): string | undefined {
  const path = join(cacheDir(requiredVersion()), name);
  return existsSync(path) ? path : undefined;
}

/**
 * Returns the path of one of upstream's commands, such as `kubectl`. It is built when it is used
 * for the first time.
 */
export function ensureCommand(name: string, progress: (text: string) => void): string {
  const path = join(cacheDir(requiredVersion()), name);
  build(path, ['build', `k8s.io/kubernetes/cmd/${name}`], progress);
  return path;
}

/** Returns the version of etcd that etcd/go.mod requires. */
export const etcdVersion = (goMod?: string): string =>
  versionIn(etcdModuleDir, ETCD_PACKAGE, goMod);

/** Returns the version of a package that the module in `dir` requires. */
function versionIn(
  dir: string,
  packagePath: string,
  goMod = readFileSync(join(dir, 'go.mod'), 'utf8'),
): string {
  const line = goMod.split('\n').find((text) => text.startsWith(`require ${packagePath} v`));
  const version = line?.split(' ')[2];
  if (version === undefined) throw new Error(`${dir}/go.mod does not require ${packagePath}`);
  return version;
}

/** Returns the path of etcd. It is built when it is used for the first time. */
export const ensureEtcd = (progress: (text: string) => void): string =>
  ensureOther('etcd', etcdModuleDir, ETCD_PACKAGE, progress);

/** Returns etcd; undefined if it has not been built yet. */
export const builtEtcd = (): string | undefined => builtCommand(`etcd-${etcdVersion()}`);

/**
 * Returns the path of a program that has a module of its own. It is built when it is used for the
 * first time.
 */
function ensureOther(
  name: string,
  moduleDir: string,
  packagePath: string,
  progress: (text: string) => void,
): string {
  const version = versionIn(moduleDir, packagePath);
  const path = join(cacheDir(requiredVersion()), `${name}-${version}`);
  if (existsSync(path)) return path;
  requireGo();
  progress(`building ${path}, once`);
  mkdirSync(dirname(path), { recursive: true });
  const partial = `${path}.partial`;
  goRun(['build', '-ldflags', '-s -w', '-o', partial, packagePath], packagePath, moduleDir);
  renameSync(partial, path);
  return path;
}

/** Returns the path of CoreDNS, which is built first if it is missing. */
export const ensureCoredns = (progress: (text: string) => void): string =>
  ensureOther(
    'coredns',
    fileURLToPath(new URL('../swap/coredns', import.meta.url)),
    'github.com/coredns/coredns',
    progress,
  );

/**
 * Builds a program unless it exists. `go` is the verb with its arguments; the last one is the
 * package.
 */
function build(output: string, go: readonly string[], progress: (text: string) => void): void {
  if (existsSync(output)) return;
  requireGo();
  progress(
    `building ${output} from k8s.io/kubernetes ${requiredVersion()}; a command takes some ` +
      'minutes, the suite 10 to 20, once',
  );
  mkdirSync(dirname(output), { recursive: true });
  // The file has another name until it is complete: an interrupted build leaves no file that looks
  // finished.
  const partial = `${output}.partial`;
  goRun(
    [...go.slice(0, -1), '-ldflags', linkFlags(requiredVersion()), '-o', partial, go.at(-1) ?? ''],
    output,
  );
  renameSync(partial, output);
}

function requireGo(): void {
  if (findProgram('go') !== undefined) return;
  throw new UserError(
    "upstream's programs are written in Go, and there is no `go` in PATH: install Go 1.26 or " +
      'later (https://go.dev/dl), then try again',
  );
}

/** Returns the linker flags that set the version which the program reports. */
export function linkFlags(version: string): string {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  const variables = {
    gitVersion: version,
    gitMajor: major,
    gitMinor: minor,
    gitTreeState: 'clean',
  };
  const settings = Object.entries(variables).map(
    ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
  );
  return ['-s -w', ...settings].join(' ');
}

/**
 * Builds one of upstream's programs, or one of the Go module in a folder. Throws a UserError if that
 * fails.
 */
export function goBuild(packagePath: string, output: string, module = moduleDir): void {
  goRun(['build', '-ldflags', '-s -w', '-o', output, packagePath], packagePath, module);
}

/**
 * Runs `go` in a module, one package at a time. Programs are static. Throws a UserError if that
 * fails.
 */
function goRun([verb = '', ...args]: readonly string[], what: string, module = moduleDir): void {
  const env = { ...process.env, CGO_ENABLED: '0' };
  const { status } = spawnSync('go', [verb, '-p', '1', ...args], {
    cwd: module,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new UserError(`go could not build ${what}`);
}

/** Returns the folder of upstream's sources in Go's cache. */
export function moduleSource(): string {
  const { status, stdout, stderr } = spawnSync(
    'go',
    ['list', '-m', '-f', '{{.Dir}}', 'k8s.io/kubernetes'],
    {
      cwd: moduleDir,
      encoding: 'utf8',
    },
  );
  if (status !== 0)
    throw new UserError(`go does not find the sources of k8s.io/kubernetes: ${stderr}`);
  return stdout.trim();
}

/**
 * Returns the suite's flag that adds the tests of the reference CSI driver. `immediate`: its volumes do
 * not wait for their first pod.
 */
export const driverFlag = (immediate = false): string =>
  `--storage.testdriver=${join(moduleDir, 'csi', immediate ? 'driver-immediate.yaml' : 'driver.yaml')}`;

/** Returns the names of the suite's conformance tests and of the tests in needs.tsv, sorted. */
export function suiteTests({ suite }: Binaries): string[] {
  const { stdout, status, stderr } = spawnSync(suite, ['--list-tests', driverFlag()], {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  if (status !== 0) throw new Error(`${suite} --list-tests ended with ${status}: ${stderr}`);
  return parseTestList(stdout, new Set(readNeeds().keys()));
}

/**
 * Returns the conformance tests of a list, and the tests with one of `keys`. Each test is a line
 * `    FILE:LINE: NAME`.
 */
export function parseTestList(text: string, keys: ReadonlySet<string>): string[] {
  return text
    .split('\n')
    .map((line) => /^\s+\S+:\d+: (.+)$/.exec(line)?.[1] ?? '')
    .filter((name) => name.includes('[Conformance]') || keys.has(testKey(name)))
    .sort();
}
