// Upstream's programs, built from its published Go module: the suite, the ginkgo that runs it in parallel, and the kubectl that it calls.
// They and Go's cache stay outside of the repository; one build serves until go.mod names another version.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../../src/cluster/install.ts';
import { UserError } from '../../src/cluster/user-error.ts';

const moduleDir = fileURLToPath(new URL('.', import.meta.url));

export interface Binaries {
  /** Of Kubernetes, such as v1.36.3. */
  readonly version: string;
  readonly suite: string;
  readonly ginkgo: string;
  readonly kubectl: string;
}

/** The version of Kubernetes that go.mod requires. */
export function requiredVersion(goMod = readFileSync(join(moduleDir, 'go.mod'), 'utf8')): string {
  const version = /^(?:require |\t)k8s\.io\/kubernetes (v\S+)$/m.exec(goMod)?.[1];
  if (version === undefined) throw new Error('test/conformance/go.mod does not require k8s.io/kubernetes');
  return version;
}

const binariesOf = (version: string, dir: string): Binaries => ({
  version,
  suite: join(dir, 'e2e.test'),
  ginkgo: join(dir, 'ginkgo'),
  kubectl: join(dir, 'kubectl'),
});

/** The folder of this version's programs. COXSWAIN_CONFORMANCE_CACHE moves it. */
export function cacheDir(version: string): string {
  const root = process.env['COXSWAIN_CONFORMANCE_CACHE'] ?? join(homedir(), '.cache', 'coxswain', 'conformance');
  return join(root, version);
}

/** Undefined where they have not been built yet. */
export function builtBinaries(): Binaries | undefined {
  const version = requiredVersion();
  const binaries = binariesOf(version, cacheDir(version));
  return [binaries.suite, binaries.ginkgo, binaries.kubectl].every((path) => existsSync(path)) ? binaries : undefined;
}

/** Builds what is missing. Rejects with a UserError where Go is missing or a build fails. */
export function ensureBinaries(progress: (text: string) => void): Binaries {
  const built = builtBinaries();
  if (built !== undefined) return built;
  if (findProgram('go') === undefined) {
    throw new UserError(
      "upstream's suite is written in Go, and there is no `go` in PATH: install Go 1.26 or later (https://go.dev/dl), then try again",
    );
  }
  const version = requiredVersion();
  const dir = cacheDir(version);
  mkdirSync(dir, { recursive: true });
  const binaries = binariesOf(version, dir);
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  const variables = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  const linkFlags = ['-s -w', ...Object.entries(variables).map(([k, v]) => `-X k8s.io/component-base/version.${k}=${v}`)].join(
    ' ',
  );
  const builds: readonly (readonly [string, readonly string[]])[] = [
    [binaries.ginkgo, ['build', '-p', '1', '-ldflags', '-s -w', 'github.com/onsi/ginkgo/v2/ginkgo']],
    [binaries.kubectl, ['build', '-p', '1', '-ldflags', linkFlags, 'k8s.io/kubernetes/cmd/kubectl']],
    [binaries.suite, ['test', '-c', '-p', '1', '-ldflags', linkFlags, 'k8s.io/kubernetes/test/e2e']],
  ];
  for (const [output, [verb = '', ...args]] of builds) {
    if (existsSync(output)) continue;
    progress(`building ${output} from k8s.io/kubernetes ${version}; the suite takes 10 to 20 minutes, once`);
    // Under another name until it is whole: an interrupted build leaves nothing that looks finished.
    const partial = `${output}.partial`;
    const result = spawnSync('go', [verb, '-o', partial, ...args], { cwd: moduleDir, stdio: ['ignore', 'inherit', 'inherit'] });
    if (result.status !== 0) throw new UserError(`go could not build ${output}`);
    renameSync(partial, output);
  }
  return binaries;
}

/** Builds a program of upstream's. Throws a UserError if that fails. */
export function goBuild(packagePath: string, output: string): void {
  const { status } = spawnSync('go', ['build', '-p', '1', '-ldflags', '-s -w', '-o', output, packagePath], {
    cwd: moduleDir,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new UserError(`go could not build ${packagePath}`);
}

/** The folder of upstream's sources in Go's cache. */
export function moduleSource(): string {
  const { status, stdout, stderr } = spawnSync('go', ['list', '-m', '-f', '{{.Dir}}', 'k8s.io/kubernetes'], {
    cwd: moduleDir,
    encoding: 'utf8',
  });
  if (status !== 0) throw new UserError(`go does not find the sources of k8s.io/kubernetes: ${stderr}`);
  return stdout.trim();
}

/** The names of the suite's conformance tests, sorted. */
export function conformanceTests({ suite }: Binaries): string[] {
  const { stdout, status, stderr } = spawnSync(suite, ['--list-tests'], { encoding: 'utf8', maxBuffer: 64 << 20 });
  if (status !== 0) throw new Error(`${suite} --list-tests ended with ${status}: ${stderr}`);
  return parseTestList(stdout);
}

/** Each test is a line `    FILE:LINE: NAME`. */
export function parseTestList(text: string): string[] {
  return text
    .split('\n')
    .map((line) => /^\s+\S+:\d+: (.+)$/.exec(line)?.[1] ?? '')
    .filter((name) => name.includes('[Conformance]'))
    .sort();
}
