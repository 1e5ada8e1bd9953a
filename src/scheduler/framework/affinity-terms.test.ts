import { describe, expect, test } from 'vitest';
import { makePod, type PodOptions } from '../testing/objects.ts';
import { affinityTermsOf } from './affinity-terms.ts';

const pod = (options: PodOptions = {}, app = 'a') => {
  const term = {
    topologyKey: 'zone',
    labelSelector: { matchLabels: { app } },
    matchLabelKeys: ['version'],
  };
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
  return makePod('p', { ...options, spec: { affinity } });
};
const identity = (of: ReturnType<typeof pod>): string | undefined =>
  affinityTermsOf(of).requiredAntiAffinity[0]?.identity;

describe('affinityTermsOf', () => {
  test('parses the terms of pods with one template once', () => {
    expect(affinityTermsOf(pod())).toBe(affinityTermsOf(pod()));
  });

  test('parses again for other terms, another namespace or other labels', () => {
    const make = () => [
      pod(),
      pod({}, 'b'),
      pod({ namespace: 'other' }),
      pod({ labels: { version: '1' } }),
      pod({ labels: { version: '2' } }),
    ];
    const said = make().map(identity);
    expect(new Set(said).size).toBe(said.length);
    // The result does not depend on the order.
    expect(make().toReversed().map(identity)).toEqual(said.toReversed());
    expect(affinityTermsOf(makePod('none')).requiredAntiAffinity).toEqual([]);
  });
});
