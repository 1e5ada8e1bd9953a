import { describe, expect, test } from 'vitest';
import { makeNode, makePodInfo, type PodOptions } from '../testing/objects.ts';
import { countsTheSame, nodeUpdateEvent, podUpdateEvent } from './changes.ts';
import { ActionType } from './events.ts';

describe('nodeUpdateEvent', () => {
  const node = makeNode('n', { labels: { a: '1' }, taints: [{ key: 'k', effect: 'NoSchedule' }] });

  test('returns nothing for a heartbeat', () => {
    const conditions = node.status.conditions?.map((condition) => ({
      ...condition,
      lastHeartbeatTime: '2026-01-01T00:05:00Z',
    }));
    expect(
      nodeUpdateEvent(node, { ...node, status: { ...node.status, conditions } }),
    ).toBeUndefined();
  });

  test.each([
    [
      'labels',
      makeNode('n', { labels: { a: '2' }, taints: [{ key: 'k', effect: 'NoSchedule' }] }),
      ActionType.UpdateNodeLabel,
    ],
    ['taints', makeNode('n', { labels: { a: '1' } }), ActionType.UpdateNodeTaint],
    [
      'several things',
      makeNode('n', {
        labels: { a: '1' },
        allocatable: { cpu: '8' },
        ready: false,
        annotations: { x: 'y' },
      }),
      ActionType.UpdateNodeTaint |
        ActionType.UpdateNodeAllocatable |
        ActionType.UpdateNodeCondition |
        ActionType.UpdateNodeAnnotation,
    ],
  ])('names %s', (_what, after, action) => {
    expect(nodeUpdateEvent(node, after)?.action).toBe(action);
  });

  test('treats uncordoning as the removal of a taint, and cordoning as a change that helps no pod', () => {
    const cordoned = makeNode('m', { unschedulable: true });
    expect(nodeUpdateEvent(cordoned, makeNode('m'))?.action).toBe(ActionType.UpdateNodeTaint);
    expect(nodeUpdateEvent(makeNode('m'), cordoned)).toBeUndefined();
  });
});

describe('podUpdateEvent', () => {
  test.each([
    ['labels', {}, { labels: { a: 'b' } }, ActionType.UpdatePodLabel],
    [
      'a smaller request',
      { requests: { cpu: '2' } },
      { requests: { cpu: '1' } },
      ActionType.UpdatePodScaleDown,
    ],
    [
      'a greater request',
      { requests: { cpu: '1' } },
      { requests: { cpu: '2' } },
      ActionType.UpdateOther,
    ],
    [
      'the last gate',
      { spec: { schedulingGates: [{ name: 'g' }] } },
      {},
      ActionType.UpdatePodSchedulingGatesEliminated,
    ],
    [
      'one gate of two',
      { spec: { schedulingGates: [{ name: 'g' }, { name: 'h' }] } },
      { spec: { schedulingGates: [{ name: 'g' }] } },
      ActionType.UpdateOther,
    ],
    [
      'tolerations',
      {},
      { spec: { tolerations: [{ operator: 'Exists' as const }] } },
      ActionType.UpdatePodToleration,
    ],
    ['anything else', {}, { spec: { activeDeadlineSeconds: 5 } }, ActionType.UpdateOther],
    ['a deletion that has begun', {}, { deleting: true }, ActionType.UpdateOther],
  ])('names %s', (_what, before, after, action) => {
    expect(podUpdateEvent(makePodInfo('p', before), makePodInfo('p', after))).toMatchObject({
      action,
      resource: 'UnscheduledPod',
    });
  });

  test('distinguishes pods with a node from pods without', () => {
    const pod = makePodInfo('p', { spec: { nodeName: 'n' } });
    const labelled = makePodInfo('p', { spec: { nodeName: 'n' }, labels: { a: 'b' } });
    expect(podUpdateEvent(pod, labelled)?.resource).toBe('AssignedPod');
  });

  test('returns nothing for a status update', () => {
    expect(
      podUpdateEvent(
        makePodInfo('p'),
        makePodInfo('p', { status: { message: 'x' }, resourceVersion: '2' }),
      ),
    ).toBeUndefined();
  });
});

describe('countsTheSame', () => {
  test.each<[string, PodOptions, boolean]>([
    ['a status', { status: { phase: 'Running' } }, true],
    ['its node', { spec: { nodeName: 'n' } }, true],
    ['labels', { labels: { a: 'b' } }, false],
    ['requests', { requests: { cpu: '1' } }, false],
    ['priority', { spec: { priority: 5 } }, false],
    ['a deletion that has begun', { deleting: true }, false],
    [
      'host ports',
      {
        spec: {
          containers: [
            {
              name: 'c',
              image: 'i',
              resources: {},
              ports: [{ containerPort: 1, hostPort: 1, protocol: 'TCP' as const }],
            },
          ],
        },
      },
      false,
    ],
    ['affinity', { spec: { affinity: { podAffinity: {} } } }, false],
  ])('%s', (_what, change, same) => {
    expect(countsTheSame(makePodInfo('p'), makePodInfo('p', change))).toBe(same);
  });
});
