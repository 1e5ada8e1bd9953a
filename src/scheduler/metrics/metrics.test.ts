// The scheduler's metrics: the text format, and the counts while pods are scheduled, rejected and
// preempted.

import { describe, expect, test } from 'vitest';
import { startTestCluster } from '../testing/cluster.ts';
import {
  Counter,
  counterText,
  exponentialBuckets,
  Family,
  gaugeText,
  Histogram,
  histogramText,
} from '#machinery/metrics/instruments.ts';

describe('the text of', () => {
  test('counters and gauges has a line for each combination of labels', () => {
    const family = new Family(
      { name: 'things_total', help: 'Things.', labels: ['kind', 'of'] },
      () => new Counter(),
    );
    family.with('a', 'x').value += 2;
    family.with('a', 'quote " and \\ and\nline').value++;
    family.with('a', 'x').value++;
    expect(counterText(family)).toBe(
      '# HELP things_total Things.\n# TYPE things_total counter\n' +
        'things_total{kind="a",of="x"} 3\nthings_total{kind="a",of="quote \\" and \\\\ and\\nline"} 1\n',
    );
    expect(gaugeText({ name: 'level', help: 'Level.' }, [[[], 0.5]])).toBe(
      '# HELP level Level.\n# TYPE level gauge\nlevel 0.5\n',
    );
  });

  test('histograms adds up from bucket to bucket', () => {
    const family = new Family(
      { name: 'took', help: 'Took.', labels: ['what'] },
      () => new Histogram(exponentialBuckets(1, 2, 3)),
    );
    for (const value of [0.5, 1, 3, 100]) family.with('w').observe(value);
    expect(histogramText(family).split('\n').slice(2)).toEqual([
      'took_bucket{what="w",le="1"} 2',
      'took_bucket{what="w",le="2"} 2',
      'took_bucket{what="w",le="4"} 3',
      'took_bucket{what="w",le="+Inf"} 4',
      'took_sum{what="w"} 104.5',
      'took_count{what="w"} 4',
      '',
    ]);
  });
});

/** Parses the text: name and labels → value, as Prometheus does. */
function read(text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const space = line.lastIndexOf(' ');
    const key = line.slice(0, space);
    expect(values.has(key), `${key} is there twice`).toBe(false);
    expect(key).toMatch(/^[a-z_]+(\{([a-z_]+="(\\.|[^"\\])*",?)*\})?$/);
    values.set(key, Number(line.slice(space + 1)));
  }
  return values;
}

describe('the metrics of a scheduler', () => {
  test('count outcomes and waiting pods', async () => {
    const cluster = await startTestCluster();
    await cluster.addNode('n', { allocatable: { cpu: '2', memory: '4Gi', pods: '10' } });
    const running = cluster.startScheduler();
    await cluster.addPod('a', { cpu: '1' }, { terminationGracePeriodSeconds: 0 });
    await cluster.addPod('b', { cpu: '1' });
    await cluster.untilBound('a', 'b');
    await cluster.addPod('large', { cpu: '4' });
    await cluster.addPod('gated', undefined, { schedulingGates: [{ name: 'wait' }] });
    await cluster.clock.advance('5s');
    const before = read(running.metricsText());
    const profile = 'profile="default-scheduler"';
    expect(before.get(`scheduler_schedule_attempts_total{result="scheduled",${profile}}`)).toBe(2);
    expect(
      before.get(`scheduler_schedule_attempts_total{result="unschedulable",${profile}}`),
    ).toBeGreaterThanOrEqual(1);
    expect(
      before.get(
        `scheduler_scheduling_attempt_duration_seconds_count{result="scheduled",${profile}}`,
      ),
    ).toBe(2);
    expect(before.get('scheduler_pending_pods{queue="active"}')).toBe(0);
    expect(before.get('scheduler_pending_pods{queue="unschedulable"}')).toBe(1);
    expect(before.get('scheduler_pending_pods{queue="gated"}')).toBe(1);
    expect(
      before.get(
        'scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"}',
      ),
    ).toBe(1);
    expect(
      before.get(
        'scheduler_unschedulable_pods{plugin="SchedulingGates",profile="default-scheduler"}',
      ),
    ).toBe(1);
    expect(before.get('scheduler_queue_incoming_pods_total{queue="active",event="PodAdd"}')).toBe(
      3,
    );
    expect(before.get('scheduler_queue_incoming_pods_total{queue="gated",event="PodAdd"}')).toBe(1);
    expect(
      before.get(
        'scheduler_queue_incoming_pods_total{queue="unschedulable",event="ScheduleAttemptFailure"}',
      ),
    ).toBeGreaterThanOrEqual(1);
    expect(before.get('scheduler_cache_size{type="nodes"}')).toBe(1);
    expect(before.get('scheduler_cache_size{type="pods"}')).toBe(2);
    expect(before.get('scheduler_cache_size{type="assumed_pods"}')).toBe(0);
    expect(before.get('scheduler_pod_scheduling_attempts_count')).toBe(2);
    expect(before.get('scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"}')).toBe(2);
    expect(before.get('scheduler_preemption_victims_count')).toBe(0);
    expect(before.get('scheduler_goroutines{operation="binding"}')).toBe(0);
    for (const [point, status] of [
      ['PreFilter', 'Success'],
      ['Filter', 'Success'],
      ['Filter', 'Unschedulable'],
      ['PostFilter', 'Unschedulable'],
      ['Reserve', 'Success'],
      ['Permit', 'Success'],
      ['Bind', 'Success'],
      ['PostBind', 'Success'],
    ]) {
      const key =
        `scheduler_framework_extension_point_duration_seconds_count{extension_point="${point}",` +
        `status="${status}",${profile}}`;
      expect(before.get(key), key).toBeGreaterThan(0);
    }
    // The calls of the first cycle.
    for (const [plugin, point, status] of [
      ['NodeAffinity', 'PreFilter', 'Skip'],
      ['NodeResourcesFit', 'Filter', 'Success'],
      ['DefaultBinder', 'Bind', 'Success'],
    ]) {
      const key =
        `scheduler_plugin_execution_duration_seconds_count{plugin="${plugin}",` +
        `extension_point="${point}",status="${status}"}`;
      expect(before.get(key), key).toBeGreaterThan(0);
    }
    expect(before.get('scheduler_event_handling_duration_seconds_count{event="NodeAdd"}')).toBe(1);
    // There is one node, and with a single feasible node Score is not called.
    const attempted = ['scheduled', 'unschedulable'].reduce(
      (sum, result) =>
        sum + (before.get(`scheduler_schedule_attempts_total{result="${result}",${profile}}`) ?? 0),
      0,
    );
    const asked = (
      values: ReadonlyMap<string, number>,
      plugin: string,
      point: string,
    ): number | undefined =>
      values.get(
        `scheduler_plugin_evaluation_total{plugin="${plugin}",extension_point="${point}",${profile}}`,
      );
    expect(asked(before, 'NodeResourcesFit', 'Filter')).toBe(attempted);
    // A later filter: it is not called for a node without room.
    expect(asked(before, 'PodTopologySpread', 'Filter') ?? 0).toBeLessThan(attempted);
    expect(asked(before, 'NodeResourcesFit', 'Score')).toBeUndefined();
    // The plugin skips pods without affinity.
    expect(asked(before, 'NodeAffinity', 'PreFilter')).toBeUndefined();

    await cluster.addPod(
      'important',
      { cpu: '1' },
      { priorityClassName: 'system-cluster-critical' },
    );
    await cluster.clock.advance('5s');
    const after = read(running.metricsText());
    expect(after.get('scheduler_preemption_victims_count')).toBe(1);
    expect(after.get('scheduler_preemption_victims_sum')).toBe(1);
    expect(after.get('scheduler_preemption_goroutines_execution_total{result="success"}')).toBe(1);
    expect(
      after.get('scheduler_preemption_goroutines_duration_seconds_count{result="success"}'),
    ).toBe(1);
    expect(after.get('scheduler_pod_scheduled_after_flush_total')).toBe(0);
    const attempts = 'scheduler_preemption_attempts_total';
    expect(after.get(attempts)).toBeGreaterThan(before.get(attempts) ?? Number.NaN);

    await cluster.addNode('other', { allocatable: { cpu: '500m', memory: '4Gi', pods: '10' } });
    await cluster.addNode('small', { allocatable: { cpu: '500m', memory: '4Gi', pods: '10' } });
    await cluster.clock.advance('1s');
    const hint = 'plugin="NodeResourcesFit",event="NodeAdd",hint="QueueSkip"';
    const terms = [{ matchExpressions: [{ key: 'slow', operator: 'DoesNotExist' as const }] }];
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
      },
    };
    await cluster.addPod('tiny', { cpu: '10m' }, { affinity });
    await cluster.untilBound('tiny');
    const last = read(running.metricsText());
    expect(asked(last, 'NodeResourcesFit', 'Score')).toBe(2);
    expect(asked(last, 'NodeAffinity', 'PreFilter')).toBe(1);
    expect(asked(last, 'NodeAffinity', 'Filter')).toBe(3);
    const hinted = last.get(`scheduler_queueing_hint_execution_duration_seconds_count{${hint}}`);
    expect(hinted).toBeGreaterThanOrEqual(1);
    await cluster.stop();
    // Scheduling has stopped: waiting pods belong to the next scheduler.
    expect(
      [...read(running.metricsText()).keys()].filter((key) =>
        key.startsWith('scheduler_pending_pods'),
      ),
    ).toEqual([]);
  });
});
