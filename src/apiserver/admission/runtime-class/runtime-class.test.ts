// Pods of runtime classes, and of priority classes, through the API.

import { beforeEach, describe, expect, test } from 'vitest';

import { Api, outcome } from '#apiserver/testing/api.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { mergeTolerations } from '../tolerations.ts';

const PODS = '/api/v1/namespaces/default/pods';
const pod = (spec: object = {}) => ({
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

const t = serverPerTest();
const api = new Api(t);

describe('runtime classes', () => {
  beforeEach(async () => {
    const answer = await api.post('/apis/node.k8s.io/v1/runtimeclasses', {
      metadata: { name: 'vm' },
      handler: 'vm',
      overhead: { podFixed: { cpu: '250m', memory: '64Mi' } },
      scheduling: { nodeSelector: { vm: 'yes' }, tolerations: [{ key: 'vm', operator: 'Exists' }] },
    });
    expect(answer.code).toBe(201);
  });

  test('their pods get overhead and node selectors', async () => {
    const { json } = await api.post(
      PODS,
      pod({ runtimeClassName: 'vm', nodeSelector: { zone: 'a' } }),
    );
    expect(json.spec).toMatchObject({
      overhead: { cpu: '250m', memory: '64Mi' },
      nodeSelector: { zone: 'a', vm: 'yes' },
      tolerations: expect.arrayContaining([{ key: 'vm', operator: 'Exists' }]),
    });
  });

  test.each([
    [{ runtimeClassName: 'none' }, 'pod rejected: RuntimeClass "none" not found'],
    [
      { runtimeClassName: 'vm', overhead: { cpu: '1' } },
      "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ],
    [
      { overhead: { cpu: '1' } },
      'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
    ],
    [
      { runtimeClassName: 'vm', nodeSelector: { vm: 'no' } },
      'conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no',
    ],
  ])('%j is rejected', async (spec, why) => {
    expect(outcome(await api.post(PODS, pod(spec)))).toBe(
      `403 Forbidden: pods "p" is forbidden: ${why}`,
    );
  });

  test('tolerations that another one covers are left out', () => {
    const all = { operator: 'Exists' } as const;
    const short = {
      key: 'k',
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 5,
    } as const;
    const long = { ...short, tolerationSeconds: 50 } as const;
    const value = { key: 'k', operator: 'Equal', value: 'v', effect: 'NoSchedule' } as const;
    expect(mergeTolerations([value], [value])).toEqual([value]);
    expect(mergeTolerations([short, value], [all])).toEqual([all]);
    expect(mergeTolerations([short], [long])).toEqual([long]);
    expect(mergeTolerations([value], [{ ...value, value: 'w' }])).toHaveLength(2);
    expect(mergeTolerations([value], [{ key: 'k', operator: 'Exists' }])).toEqual([
      { key: 'k', operator: 'Exists' },
    ]);
  });
});

describe('priority classes', () => {
  const CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses';

  test('two exist from the start, and cannot be deleted', async () => {
    const { json } = await api.get(CLASSES);
    expect(json.items.map(({ metadata }) => metadata.name)).toEqual([
      'system-cluster-critical',
      'system-node-critical',
    ]);
    expect(outcome(await api.delete(`${CLASSES}/system-node-critical`))).toContain('403 Forbidden');
  });

  test('one default class applies to pods without a class', async () => {
    await api.post(CLASSES, {
      metadata: { name: 'low' },
      value: 7,
      preemptionPolicy: 'Never',
      globalDefault: true,
    });
    const { json } = await api.post(PODS, pod());
    expect(json.spec).toMatchObject({
      priorityClassName: 'low',
      priority: 7,
      preemptionPolicy: 'Never',
    });
    expect(
      outcome(
        await api.post(CLASSES, { metadata: { name: 'second' }, value: 8, globalDefault: true }),
      ),
    ).toBe(
      '403 Forbidden: priorityclasses.scheduling.k8s.io "second" is forbidden: ' +
        'PriorityClass low is already marked as default. Only one default can exist',
    );
    expect((await api.patch(`${CLASSES}/low`, { description: 'x' })).code).toBe(200);
  });

  test('an update of a pod may omit its priority', async () => {
    await api.post(PODS, pod({ priorityClassName: 'system-node-critical' }));
    const { json } = await api.get(`${PODS}/p`);
    const { priority: _p, preemptionPolicy: _q, ...spec } = json.spec ?? {};
    const updated = await api.put(`${PODS}/p`, { ...json, spec });
    expect(updated.code).toBe(200);
    expect(updated.json.spec).toMatchObject({
      priority: 2_000_001_000,
      preemptionPolicy: 'PreemptLowerPriority',
    });
  });
});
