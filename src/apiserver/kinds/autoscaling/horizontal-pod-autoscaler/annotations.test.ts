// Annotations of autoscaling/v1 that carry fields of autoscaling/v2, with values of other types than
// those fields have (CVE-2024-0793 was a crash on reading one).

import { afterAll, beforeAll, expect, test } from 'vitest';

import { send } from '../../../testing/requests.ts';
import { startTestServer, type TestServer } from '../../../testing/server.ts';

const PATH = '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers';

let t: TestServer;
beforeAll(async () => {
  t = await startTestServer();
});
afterAll(() => t.stop());

const HOSTILE: Readonly<Record<string, readonly unknown[]>> = {
  metrics: [
    [{}],
    [{ type: 'Resource' }],
    [{ type: 'Pods' }, { type: 'Object' }, { type: 'External' }, { type: 'ContainerResource' }],
    [{ type: 5, resource: 'x' }],
    [{ type: 'Resource', resource: { name: 5, targetAverageUtilization: 'x' } }],
    [{ type: 'Resource', resource: { name: 'cpu', targetAverageValue: { a: 1 } } }],
    [{ type: 'Pods', pods: { metricName: [], targetAverageValue: true, selector: 'x' } }],
    [{ type: 'Object', object: { target: 'x', metricName: {}, targetValue: 5 } }],
    [{ type: 'External', external: { metricName: 1, metricSelector: [], targetValue: 'q' } }],
  ],
  'current-metrics': [[{ type: 'Resource' }], [{ type: 'Pods', pods: 5 }], [{}]],
  conditions: [[{ type: 5 }], [{ type: 'A', status: {}, lastTransitionTime: [] }], [{ x: 'y' }]],
  behavior: [{ ScaleUp: 5 }, { ScaleUp: { Policies: [{ Type: 5, Value: 'x' }] } }, []],
};
const cases = Object.entries(HOSTILE).flatMap(([name, values]) =>
  values.map((value) => [name, JSON.stringify(value)] as const),
);

test.each(cases)('%s: %s is rejected or ignored, and can be read', async (name, text) => {
  const annotations = { [`autoscaling.alpha.kubernetes.io/${name}`]: text };
  const body = {
    metadata: { generateName: 'a-', annotations },
    spec: { scaleTargetRef: { kind: 'Deployment', name: 'd' }, maxReplicas: 3 },
  };
  const created = await send(t.server, { method: 'POST', path: PATH, body });
  expect([201, 422, 400], created.text).toContain(created.code);
  if (created.code === 201) {
    const status = { ...created.json, status: { currentReplicas: 1, desiredReplicas: 1 } };
    const path = `${PATH}/${created.json.metadata.name}`;
    const updated = await send(t.server, { method: 'PUT', path: `${path}/status`, body: status });
    expect([200, 422, 400], updated.text).toContain(updated.code);
  }
  for (const version of ['v1', 'v2']) {
    for (const accept of ['application/json', 'application/vnd.kubernetes.protobuf']) {
      const path = PATH.replace('v1', version);
      const listed = await send(t.server, { path, headers: { accept } });
      expect(listed.code, `${version} ${accept} ${listed.text}`).toBe(200);
    }
  }
  expect(t.logger.errors).toEqual([]);
});
