import { expect, test } from 'vitest';
import { clusterMap } from './cluster-map.ts';
import type { KubeObject } from '../lists/live-object.ts';

const object = (name: string, spec: object, status: object = {}): KubeObject =>
  ({ metadata: { name }, spec, status }) as KubeObject;

const deployment = (name: string, app: string, ready: number): KubeObject =>
  object(
    name,
    { replicas: 2, template: { metadata: { labels: { app } } } },
    { readyReplicas: ready },
  );

const ingress = (name: string, service: string): KubeObject =>
  object(name, {
    rules: [{ host: 'x.example', http: { paths: [{ backend: { service: { name: service } } }] } }],
  });

test('lines go from ingresses over services to the workloads that they select', () => {
  const { boxes, lines } = clusterMap({
    ingresses: [ingress('front', 'web'), ingress('old', 'gone')],
    services: [
      object('web', { selector: { app: 'web' }, ports: [{ port: 80 }] }),
      object('empty', { selector: { app: 'nothing' } }),
      object('manual', {}),
    ],
    workloads: { 'deployments.apps': [deployment('a', 'web', 2), deployment('b', 'web', 1)] },
  });
  expect(lines).toEqual([
    { from: 'ingresses/front', to: 'services/web' },
    { from: 'ingresses/old', to: 'services/gone' },
    { from: 'services/web', to: 'deployments.apps/a' },
    { from: 'services/web', to: 'deployments.apps/b' },
  ]);
  const states = Object.fromEntries(boxes.map(({ id, state }) => [id, state]));
  expect(states).toEqual({
    'ingresses/front': 'info',
    'ingresses/old': 'info',
    'services/web': 'info',
    'services/gone': 'problem',
    'services/empty': 'waiting',
    'services/manual': 'info',
    'deployments.apps/a': 'ok',
    'deployments.apps/b': 'waiting',
  });
});

test('objects without the expected shape are shown without lines', () => {
  const { boxes, lines } = clusterMap({
    ingresses: [object('x', { rules: 'no list' })],
    services: [object('y', { selector: 'no map', ports: [null] })],
    workloads: { 'deployments.apps': [object('z', {})] },
  });
  expect(boxes).toHaveLength(3);
  expect(lines).toEqual([]);
});
