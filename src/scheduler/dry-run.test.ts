import { nodes, pods, type Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { dryRun } from './dry-run.ts';
import { startTestCluster } from './testing/cluster.ts';

describe('the dry run', () => {
  let cluster: Awaited<ReturnType<typeof startTestCluster>> | undefined;
  afterEach(async () => cluster?.stop());

  async function verdictOf(spec: object, configuration?: unknown) {
    cluster = await startTestCluster();
    const { client, clock } = cluster;
    const capacity = { cpu: '1', memory: '1Gi', pods: '10' };
    const status = { capacity, allocatable: capacity } as never;
    await client
      .resource(nodes)
      .create({ metadata: { name: 'small', labels: { disk: 'ssd' } }, status });
    await client.resource(nodes).create({
      metadata: { name: 'tainted', labels: { disk: 'hdd' } },
      spec: { taints: [{ key: 'gpu', effect: 'NoSchedule' }] },
      status,
    });
    const pod: Immutable<Pod> = await client
      .resource(pods)
      .namespace('default')
      .create({
        metadata: { name: 'p' },
        spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
      });
    const before = await client.resource(pods).list();
    const verdicts = await dryRun(
      {
        client,
        clock,
        random: new SeededRandom('1'),
        logger: silentLogger,
        signal: new AbortController().signal,
        ...(configuration !== undefined && { configuration }),
      },
      [pod],
    );
    expect((await client.resource(pods).list()).metadata.resourceVersion).toBe(
      before.metadata.resourceVersion,
    );
    return verdicts.get(pod.metadata.uid);
  }

  test('has the verdict of every plugin on every node, not only the first', async () => {
    const verdict = await verdictOf({
      nodeSelector: { disk: 'ssd' },
      containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '4' } } }],
    });
    const plugins = Object.fromEntries(
      (verdict?.nodes ?? []).map(({ node, rejections }) => [
        node,
        rejections.map(({ plugin, reasons }) => `${plugin}: ${reasons.join()}`).sort(),
      ]),
    );
    expect(plugins).toEqual({
      small: ['NodeResourcesFit: Insufficient cpu'],
      tainted: [
        "NodeAffinity: node(s) didn't match Pod's node affinity/selector",
        'NodeResourcesFit: Insufficient cpu',
        'TaintToleration: node(s) had untolerated taint(s)',
      ],
    });
  });

  test('scores the nodes that fit, and writes nothing', async () => {
    const verdict = await verdictOf({});
    const small = verdict?.nodes.find(({ node }) => node === 'small');
    expect(small?.rejections).toEqual([]);
    expect(small?.scores?.map(({ plugin }) => plugin)).toContain('NodeResourcesFit');
    expect(small?.total).toBe(
      small?.scores?.reduce((sum, { score, weight }) => sum + score * weight, 0),
    );
  });

  test('knows gates, and schedulers that it is not', async () => {
    const gated = await verdictOf({ schedulingGates: [{ name: 'example.com/wait' }] });
    expect(gated?.rejections).toMatchObject([{ plugin: 'SchedulingGates', point: 'PreEnqueue' }]);
    await cluster?.stop();
    const other = await verdictOf({ schedulerName: 'mine' });
    expect(other?.error).toContain('its schedulerName mine is no profile');
  });

  test('rejects what is wrong in a configuration', async () => {
    await expect(verdictOf({}, { profiles: [{ schedulerName: 1 }] })).rejects.toThrow(
      /schedulerName/,
    );
  });
});
