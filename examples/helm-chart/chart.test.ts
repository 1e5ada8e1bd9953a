// Tests a Helm chart without Docker: helm installs it into a cluster inside this process, and its
// pods become ready there.

import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { deployments } from 'coxswain/api/apps/v1';
import { configMaps } from 'coxswain/api/core/v1';
import { readyEndpoints } from './endpoints.ts';
import { sharedCluster } from 'coxswain/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const chart = fileURLToPath(new URL('chart', import.meta.url));

const hasHelm = (): boolean => {
  try {
    execFileSync('helm', ['version', '--short'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

describe.skipIf(!hasHelm())('the chart (needs helm)', () => {
  const shared = sharedCluster({ beforeAll, afterAll }, { nodes: 2, port: 0 });
  const home = mkdtempSync(join(tmpdir(), 'coxswain-helm-'));
  afterAll(() => rmSync(home, { recursive: true }));

  /** Runs helm on the cluster, without the user's own settings. */
  const helm = async (...args: readonly string[]): Promise<string> => {
    const env = {
      PATH: process.env['PATH'],
      HOME: home,
      KUBECONFIG: shared.cluster.kubeconfigPath,
    };
    return (await promisify(execFile)('helm', args, { env })).stdout;
  };

  test('installs, becomes available, upgrades and rolls back', async () => {
    const { cluster } = shared;
    const namespace = await shared.namespace();
    await helm('install', 'web', chart, '--namespace', namespace);
    const web = await cluster.waitFor(deployments, 'web', 'Available', { namespace });
    expect(web?.spec.replicas).toBe(2);
    expect(await readyEndpoints(cluster, 'web', namespace)).toHaveLength(2);

    await helm(
      'upgrade',
      'web',
      chart,
      '--namespace',
      namespace,
      '--set',
      'replicas=3,greeting=hi',
    );
    await cluster.waitFor(deployments, 'web', ({ status }) => status.availableReplicas === 3, {
      namespace,
    });
    expect((await cluster.get(configMaps, 'web', { namespace })).data).toEqual({ greeting: 'hi' });

    await helm('rollback', 'web', '1', '--namespace', namespace);
    await cluster.waitFor(deployments, 'web', ({ status }) => status.replicas === 2, { namespace });
    await helm('uninstall', 'web', '--namespace', namespace);
    await cluster.waitFor(deployments, 'web', 'deleted', { namespace });
  });
});
