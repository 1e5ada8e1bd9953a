// The same session with every version of kubectl on this machine, against this server: in `npm test`
// with the oldest, the newest and the server's own version.

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCluster, type DurableCluster } from '#cluster/embedded/create-cluster.ts';
import { partOrWhole } from '#machinery/testing/long-tests.ts';
import { requiredVersion } from '../conformance/binaries.ts';
import { expectedKubectls, findKubectls } from './kubectls.ts';
import { formatTranscript, parseTranscript, shape, splitCommand } from './transcript.ts';

const folder = fileURLToPath(new URL('kubectl', import.meta.url));
const session = parseTranscript(readFileSync(join(folder, 'session.txt'), 'utf8'));
const found = findKubectls();
const own = /^v(1\.\d+)\./.exec(requiredVersion())?.[1];
const versions = [...found.keys()];
const chosen = partOrWhole(
  versions.filter((version, i) => i === 0 || i === versions.length - 1 || version === own),
  versions,
);
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

  test.each(chosen.map((version) => [version, found.get(version) ?? ''] as const))(
    'kubectl %s prints what the session expects',
    async (version, program) => {
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
    },
  );

  test.skip.each(missing)(
    'kubectl %s prints what the session expects [skipped: it is not built: npx tsx test/skew/build.ts]',
    () => undefined,
  );
});
