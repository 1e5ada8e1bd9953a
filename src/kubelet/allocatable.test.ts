import { expect, test } from 'vitest';
import { allocatableOf, podsLimit } from './allocatable.ts';
import { DEFAULT_EVICTION } from './eviction/settings.ts';
import { parseThresholds } from './eviction/thresholds.ts';

const capacity = {
  cpu: '4',
  memory: '8Gi',
  'ephemeral-storage': '100Gi',
  'hugepages-2Mi': '1Gi',
  pods: '110',
};
const thresholds = parseThresholds(DEFAULT_EVICTION);

test('reservations, thresholds and huge pages are not allocatable', () => {
  const allocatable = allocatableOf(capacity, {
    kubeReserved: { cpu: '100m', memory: '200Mi' },
    systemReserved: { cpu: '400m', 'ephemeral-storage': '10Gi' },
    thresholds,
  });
  expect(allocatable).toEqual({
    cpu: '3500m',
    // 8Gi - 200Mi - 100Mi - 1Gi
    memory: '6868Mi',
    // 100Gi - 10Gi - 10 %, in the precision of upstream's percentages.
    'ephemeral-storage': '85899345760',
    'hugepages-2Mi': '1Gi',
    pods: '110',
  });
});

test('all pods together may use what is not reserved', () => {
  expect(podsLimit(capacity, { kubeReserved: { memory: '1Gi' } })).toMatchObject({
    cpu: '4',
    memory: '7Gi',
  });
});

test('an amount is never negative', () => {
  const { cpu, memory } = allocatableOf(capacity, {
    systemReserved: { cpu: '5', memory: '10Gi' },
    thresholds,
  });
  expect([cpu, memory]).toEqual(['0', '0']);
});
