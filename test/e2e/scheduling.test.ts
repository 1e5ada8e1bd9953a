// The scheduler's configuration from a file.

import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  coxArgs,
  coxUp,
  eventually,
  missingKubectl,
  named,
  run,
  type RunningCluster,
  temporaryDir,
  writeManifest,
} from './harness.ts';

describe.skipIf(missingKubectl !== undefined)(named('--scheduler-config', missingKubectl), () => {
  let dir: ReturnType<typeof temporaryDir>;
  let cluster: RunningCluster | undefined;
  beforeEach(() => {
    dir = temporaryDir();
  });
  afterEach(async () => {
    await cluster?.stop();
    cluster = undefined;
    dir.remove();
  });

  test('a second profile whose only scoring plugin is Random', async () => {
    const config = writeManifest(
      dir.path,
      'scheduler.yaml',
      `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
  - schedulerName: by-chance
    plugins:
      score:
        disabled: [{ name: '*' }]
        enabled: [{ name: Random }]
`,
    );
    cluster = await coxUp(
      ['--runtime', 'simulated', '--store', 'memory', '--nodes', '3', '--scheduler-config', config],
      {
        dataDir: join(dir.path, 'data'),
      },
    );
    const kubectl = cluster.kubectl();
    for (const scheduler of ['default-scheduler', 'by-chance']) {
      await kubectl.run('create -f -', {
        input:
          `apiVersion: v1\nkind: Pod\nmetadata: {name: ${scheduler}}\nspec: {schedulerName: ` +
          `${scheduler}, containers: [{name: c, image: busybox, command: [sleep, "3600"]}]}`,
      });
      await kubectl.run(`wait --for=condition=Ready pod/${scheduler} --timeout=20s`);
    }
    await eventually('the event', async () =>
      /by-chance +Successfully assigned|Successfully assigned default\/by-chance/.test(
        await kubectl.run('get events -o wide'),
      ),
    );
    expect(await kubectl.run('describe pod by-chance')).toMatch(
      /Scheduled .* by-chance +Successfully assigned default\/by-chance to /,
    );
    await kubectl.run('create -f -', {
      input:
        'apiVersion: v1\nkind: Pod\nmetadata: {name: huge}\nspec: {containers: [{name: c, ' +
        'image: busybox, resources: {requests: {cpu: "1000"}}}]}',
    });
    await eventually('FailedScheduling', async () =>
      /FailedScheduling .* default-scheduler +0\/3 nodes are available: 3 Insufficient cpu\./.test(
        await kubectl.run('describe pod huge'),
      ),
    );
  });

  test('a plugin that does not exist', async () => {
    const config = writeManifest(
      dir.path,
      'scheduler.yaml',
      'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n' +
        'profiles: [{plugins: {score: {enabled: [{name: Fortune}]}}}]\n',
    );
    const result = await run(process.execPath, [
      ...coxArgs,
      'up',
      '--runtime',
      'simulated',
      '--store',
      'memory',
      '--secure-port',
      '0',
      '--data-dir',
      join(dir.path, 'data'),
      '--scheduler-config',
      config,
    ]);
    expect(result.status).toBe(1);
    expect(result.stderr).toMatch(/^(.*\n)*cox: --scheduler-config: .*Fortune/);
  });
});
