import { expect, test } from 'vitest';

import { DEFAULTERS, newDefaultScheme } from './default-scheme.ts';
import { parseApiVersion } from './machinery/scheme.ts';

const scheme = newDefaultScheme();

test.each<[apiVersion: string, kind: string, draft: Record<string, unknown>, after: object]>([
  ['v1', 'Secret', {}, { type: 'Opaque' }],
  [
    'storage.k8s.io/v1',
    'StorageClass',
    {},
    { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' },
  ],
  ['v1', 'ConfigMap', { data: {} }, { data: {} }],
])('%s %s has the defaults of its group', (apiVersion, kind, draft, after) => {
  scheme
    .codecOf({ group: '', version: '', ...parseApiVersion(apiVersion), kind })
    ?.applyDefaults(draft);
  expect(draft).toEqual(after);
});

test.each([
  ['v1', 'events.k8s.io/v1', 'Event'],
  ['autoscaling/v1', 'autoscaling/v2', 'HorizontalPodAutoscaler'],
])('%s and %s of %s are converted to each other', (a, b, kind) => {
  const [first, second] = [a, b].map((apiVersion) => ({
    group: '',
    version: '',
    ...parseApiVersion(apiVersion),
    kind,
  }));
  if (first === undefined || second === undefined) throw new Error('no kinds');
  expect([scheme.canConvert(first, second), scheme.canConvert(second, first)]).toEqual([
    true,
    true,
  ]);
});

test('every defaulter belongs to a kind of its group', () => {
  const unknown = Object.entries(DEFAULTERS).flatMap(([apiVersion, defaulters]) =>
    Object.keys(defaulters).filter(
      (kind) =>
        scheme.schemas.lookup({ group: '', version: '', ...parseApiVersion(apiVersion), kind }) ===
        undefined,
    ),
  );
  expect(unknown).toEqual([]);
});
