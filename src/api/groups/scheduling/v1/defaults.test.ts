import { expect, test } from 'vitest';

import { variation } from '#api/testing/variation.ts';
import type * as scheduling from './types.ts';

test('of classes', () => {
  const of = variation<scheduling.PriorityClass>('scheduling/v1.PriorityClass', { value: 7 });
  expect(of()).toMatchObject({ value: 7, preemptionPolicy: 'PreemptLowerPriority' });
  expect(of({ preemptionPolicy: 'Never' }).preemptionPolicy).toBe('Never');
});
