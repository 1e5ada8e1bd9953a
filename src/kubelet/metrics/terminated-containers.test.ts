import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { KubeletMetrics } from './kubelet-metrics.ts';

test('terminated containers are counted by type, exit code and reason', () => {
  const metrics = new KubeletMetrics(new VirtualClock());
  metrics.containerTerminated('container', 139, 'Error');
  metrics.containerTerminated('container', 139, 'Error');
  metrics.containerTerminated('init_container', 0, 'Completed');
  const text = metrics.text({
    nodeName: 'n',
    runningPods: () => 0,
    containers: () => ({ created: 0, running: 0, exited: 0, unknown: 0 }),
    desiredPods: () => ({ api: 0, static: 0 }),
    lastRelist: () => 0,
    resizes: () => ({ deferred: 0, infeasible: 0, inProgress: 0 }),
    volumes: () => [],
  });
  const name = 'kubelet_terminated_containers_total';
  expect(text.split('\n').filter((line) => line.startsWith(name))).toEqual([
    `${name}{container_type="container",exit_code="139",reason="Error"} 2`,
    `${name}{container_type="init_container",exit_code="0",reason="Completed"} 1`,
  ]);
});
