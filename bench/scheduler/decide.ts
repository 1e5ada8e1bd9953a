// Measures single scheduling decisions, one pod after the other: requests counted, snapshot
// updated, nodes filtered and scored, one chosen, the pod assumed. Shows how the time grows with
// the number of nodes.

import { systemClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { SchedulerCache } from '#scheduler/cache/cache.ts';
import { Snapshot } from '#scheduler/cache/snapshot.ts';
import { readConfiguration } from '#scheduler/config/configuration.ts';
import { resolveProfile } from '#scheduler/profile.ts';
import { CycleState } from '#scheduler/framework/cycle-state.ts';
import { Framework } from '#scheduler/framework/framework.ts';
import { PodInfo } from '#scheduler/framework/pod-info.ts';
import { WaitingPods } from '#scheduler/framework/waiting-pods.ts';
import { SchedulerMetrics } from '#scheduler/metrics/scheduler-metrics.ts';
import { inTreeRegistry } from '#scheduler/plugins/registry.ts';
import { SchedulingAlgorithm } from '#scheduler/scheduling-algorithm.ts';
import { makeHandle, RecordingLogger } from '#scheduler/testing/handle.ts';
import { makeNode, makePod } from '#scheduler/testing/objects.ts';
import { quantile } from '../report.ts';
import { nodeOf, podOf, PODS, type PodTemplate, ZONE } from './templates.ts';

export interface Decisions {
  readonly nodes: number;
  readonly pods: number;
  readonly perSecond: number;
  /** Quantiles of the time of one decision, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export interface DecisionsWanted {
  readonly nodes: number;
  readonly pods: number;
  /** Default: plain pods. */
  readonly template?: PodTemplate;
  /** Default: true, as in a cluster. */
  readonly metrics?: boolean;
}

export function decide({
  nodes,
  pods,
  template = PODS.plain,
  metrics = true,
}: DecisionsWanted): Decisions {
  const random = new SeededRandom(1);
  const cache = new SchedulerCache({ clock: systemClock, logger: new RecordingLogger() });
  for (let i = 0; i < nodes; i++) {
    const { metadata, status } = nodeOf(`node-${i}`, i, { zones: ['zone1', 'zone2', 'zone3'] });
    cache.putNode(
      makeNode(metadata.name, {
        labels: { [ZONE]: `zone${(i % 3) + 1}` },
        allocatable: { ...status.allocatable },
      }),
    );
  }
  const snapshot = new Snapshot();
  const nominator = {
    nominatedPodsForNode: () => [],
    isEmpty: () => true,
    nominatedNode: () => undefined,
  };
  const [profile] = readConfiguration(undefined).profiles;
  if (profile === undefined) throw new Error('there is a default profile');
  const framework = new Framework({
    profileName: profile.schedulerName,
    plugins: resolveProfile(profile, inTreeRegistry, makeHandle({ snapshot, random, nominator })),
    clock: systemClock,
    nominator,
    waitingPods: new WaitingPods(),
    ...(metrics && { metrics: new SchedulerMetrics({ clock: systemClock }) }),
  });
  const algorithm = new SchedulingAlgorithm({ snapshot, random });
  const made = Array.from({ length: pods }, (_, i) => {
    const { metadata, spec } = podOf(`pod-${i}`, template, false);
    return makePod(metadata.name, {
      spec,
      ...(metadata.labels !== undefined && { labels: metadata.labels }),
    });
  });
  const times: number[] = [];
  const start = performance.now();
  for (const pod of made) {
    const began = performance.now();
    const info = new PodInfo(pod);
    cache.updateSnapshot(snapshot);
    const result = algorithm.schedule(framework, new CycleState(), info);
    if (result.kind === 'node') cache.assumePod(info, result.node);
    times.push(performance.now() - began);
  }
  const perSecond = pods / ((performance.now() - start) / 1000);
  return { nodes, pods, perSecond, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}
