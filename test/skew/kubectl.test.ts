// The same session with every version of kubectl on this machine, against this server.

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCluster, type DurableCluster } from '#cluster/embedded/create-cluster.ts';
import { expectedKubectls, findKubectls } from './kubectls.ts';
import { formatTranscript, parseTranscript, shape, splitCommand } from './transcript.ts';

const folder = fileURLToPath(new URL('kubectl', import.meta.url));
const session = parseTranscript(readFileSync(join(folder, 'session.txt'), 'utf8'));
const found = findKubectls();
const missing = expectedKubectls.filter((version) => !found.has(version));
const COMMAND_TIMEOUT_MS = 120_000;

/** Returns what a command prints, and its exit status unless that is 0. */
function run(program: string, command: string, env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env, timeout: COMMAND_TIMEOUT_MS, encoding: 'utf8' } as const;
    const child = execFile(program, splitCommand(command), options, (error, stdout, stderr) => {
      const status = error === null ? '' : `(status ${error.code ?? 'unknown'})`;
      resolve(
        shape([stdout.trim(), stderr.trim(), status].filter((text) => text !== '').join('\n')),
      );
    });
    child.stdin?.end();
  });
}

describe.skipIf(found.size === 0)('kubectl of several versions', () => {
  let dir: string;
  let cluster: DurableCluster;
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'coxswain-skew-'));
    cluster = await createCluster({ dataDir: join(dir, 'data'), port: 0, store: 'memory' });
  });
  afterAll(async () => {
    await cluster?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  test.each([...found])('kubectl %s prints what the session expects', async (version, program) => {
    const env = {
      PATH: process.env['PATH'],
      KUBECONFIG: cluster.kubeconfigPath,
      HOME: join(dir, version),
      KUBECTL_EXTERNAL_DIFF: 'diff -U0 --label=live --label=merged',
      LANG: 'C',
    };
    const printed = [];
    for (const { command } of session)
      printed.push({ command, output: await run(program, command, env) });
    expect(formatTranscript(printed)).toBe(formatTranscript(session));
  });

  test.skip.each(missing)(
    'kubectl %s prints what the session expects [skipped: it is not built: npx tsx test/skew/build.ts]',
    () => undefined,
  );
});
