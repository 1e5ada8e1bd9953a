import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../lists/live-object.ts';
import { conditionSeverity, statusWords } from './status-words.ts';

const object = (apiVersion: string, kind: string, rest: object): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'x', generation: 1 },
  ...rest,
});

const pod = (status: object): KubeObject =>
  object('v1', 'Pod', { spec: { nodeName: 'node-1' }, status });

describe('statusWords', () => {
  test.each<[string, KubeObject, string, RegExp]>([
    ['a finished pod', pod({ phase: 'Succeeded' }), 'ok', /has finished/],
    [
      'a pod whose image cannot be pulled',
      pod({
        phase: 'Pending',
        containerStatuses: [
          { name: 'c', state: { waiting: { reason: 'ImagePullBackOff', message: 'not found' } } },
        ],
      }),
      'problem',
      /container c does not run: ImagePullBackOff: not found/,
    ],
    [
      'a pod without a node',
      pod({
        phase: 'Pending',
        conditions: [
          { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' },
        ],
      }),
      'problem',
      /has no node: 0\/3 nodes/,
    ],
    [
      'a pod that is not ready',
      pod({ phase: 'Running', containerStatuses: [{ name: 'c', state: { running: {} } }] }),
      'waiting',
      /c is not ready \(0 of 1\)/,
    ],
    [
      'a failed pod',
      pod({
        phase: 'Failed',
        containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 3 } } }],
      }),
      'problem',
      /container c ended with code 3/,
    ],
    [
      'a rollout that does not progress',
      object('apps/v1', 'Deployment', {
        spec: { replicas: 3 },
        status: {
          observedGeneration: 1,
          availableReplicas: 1,
          conditions: [
            { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' },
          ],
        },
      }),
      'problem',
      /does not progress: 1 of 3/,
    ],
    [
      'a deployment scaled to zero',
      object('apps/v1', 'Deployment', {
        spec: { replicas: 0 },
        status: { observedGeneration: 1 },
      }),
      'ok',
      /scaled to zero/,
    ],
    [
      'a node under pressure',
      object('v1', 'Node', {
        status: {
          conditions: [
            { type: 'Ready', status: 'True' },
            { type: 'DiskPressure', status: 'True', message: 'disk is full' },
          ],
        },
      }),
      'problem',
      /DiskPressure: disk is full/,
    ],
    [
      'a custom object with a condition',
      object('example.com/v1', 'Widget', {
        status: { conditions: [{ type: 'Ready', status: 'False', reason: 'NoMoney' }] },
      }),
      'waiting',
      /Ready is False: NoMoney/,
    ],
    [
      'a custom object without a state',
      object('example.com/v1', 'Widget', {}),
      'neutral',
      /exists/,
    ],
    [
      'an object that waits for its finalizers',
      {
        ...pod({}),
        metadata: { name: 'x', deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a/b'] },
      },
      'waiting',
      /waits for a\/b/,
    ],
  ])('%s', (_name, subject, severity, text) => {
    const words = statusWords(subject);
    expect(words.severity).toBe(severity);
    expect(words.text).toMatch(text);
  });

  test('a kind named like a property of objects is no known kind', () => {
    expect(statusWords(object('x/v1', 'toString', {})).text).toBe('exists');
    expect(statusWords(object('v1', '__proto__', {})).text).toBe('exists');
  });
});

test.each([
  [{ type: 'Ready', status: 'True' }, 'ok'],
  [{ type: 'Ready', status: 'False' }, 'waiting'],
  [{ type: 'MemoryPressure', status: 'False' }, 'ok'],
  [{ type: 'ReplicaFailure', status: 'True' }, 'problem'],
  [{ type: 'Ready', status: 'Unknown' }, 'waiting'],
])('conditionSeverity %j', (condition, severity) => {
  expect(conditionSeverity(condition)).toBe(severity);
});
