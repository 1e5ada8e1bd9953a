// The examples in other languages, with the built command. Each is skipped by name where its tools
// or libraries are missing.

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { coxArgs, named, run, temporaryDir } from './harness.ts';

const examples = resolve(import.meta.dirname, '../../examples');
const cox = [process.execPath, ...coxArgs];

/** Reports whether a program ends with status 0. */
function works(program: string, args: readonly string[], cwd?: string): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore', cwd, env: { ...process.env, ...OFFLINE } });
    return true;
  } catch {
    return false;
  }
}

/** Tests download nothing. */
const OFFLINE = { GOPROXY: 'off', GOFLAGS: '-mod=mod' };

const missingGo = works('go', ['list', '-deps', '-test', './...'], join(examples, 'envtest-go'))
  ? undefined
  : 'Go with the modules of examples/envtest-go';
const missingPython = works('python3', ['-c', 'import kubernetes, pytest'])
  ? undefined
  : 'Python with pytest and kubernetes';
const missingMaven =
  works('mvn', ['--version']) &&
  existsSync(join(homedir(), '.m2/repository/io/fabric8/kubernetes-client/7.1.0'))
    ? undefined
    : 'Maven with the libraries of examples/junit';

describe('examples in other languages', () => {
  let dir: ReturnType<typeof temporaryDir>;
  const copyOf = (name: string): string => {
    cpSync(join(examples, name), join(dir.path, name), { recursive: true });
    return join(dir.path, name);
  };
  beforeAll(() => {
    dir = temporaryDir();
  });
  afterAll(() => {
    dir.remove();
  });

  test.skipIf(missingGo !== undefined)(
    named('envtest in Go', missingGo),
    { timeout: 600_000 },
    async () => {
      const layout = await run(cox[0] as string, [
        ...cox.slice(1),
        'envtest',
        '--dir',
        join(dir.path, 'assets'),
      ]);
      const env = { ...OFFLINE, KUBEBUILDER_ASSETS: layout.stdout.trim() };
      const cwd = copyOf('envtest-go');
      const result = await run('go', ['test', './...'], { cwd, env, timeoutMs: 590_000 });
      expect(`${result.stdout}${result.stderr}`).toMatch(/^ok\s+example\.com\/team/m);
    },
  );

  test.skipIf(missingPython !== undefined)(named('pytest', missingPython), async () => {
    const env = { COX: cox.join(' ') };
    const args = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider'];
    const result = await run('python3', args, { cwd: copyOf('pytest'), env, timeoutMs: 200_000 });
    expect(`${result.stdout}${result.stderr}`).toMatch(/^1 passed/m);
  });

  test.skipIf(missingMaven !== undefined)(named('JUnit', missingMaven), async () => {
    const env = { COX: cox.join(' ') };
    const args = ['--offline', '--batch-mode', 'test'];
    const result = await run('mvn', args, { cwd: copyOf('junit'), env, timeoutMs: 230_000 });
    expect(result.stdout).toMatch(/Tests run: 1, Failures: 0, Errors: 0/);
  });
});
