import { expect, test } from 'vitest';

import { podQosClass } from './qos.ts';
import type { Container, PodSpec, ResourceRequirements } from './types.ts';

const container = (resources: ResourceRequirements): Container => ({ name: 'c', resources });
const all = (cpu: string, memory: string): Record<string, string> => ({ cpu, memory });
const exact = { requests: all('1', '1Gi'), limits: all('1', '1Gi') };

test.each<[what: string, spec: Partial<PodSpec> & Pick<PodSpec, 'containers'>, qos: string]>([
  ['nothing', { containers: [container({})] }, 'BestEffort'],
  ['nothing but zeros', { containers: [container({ requests: all('0', '0') })] }, 'BestEffort'],
  [
    'only what does not count',
    { containers: [container({ requests: { 'example.com/gpu': '1' } })] },
    'BestEffort',
  ],
  ['just as much as the limits', { containers: [container(exact)] }, 'Guaranteed'],
  [
    'the same amount in other words',
    { containers: [container({ requests: all('1000m', '1024Mi'), limits: all('1', '1Gi') })] },
    'Guaranteed',
  ],
  ['one of two containers without', { containers: [container(exact), container({})] }, 'Burstable'],
  [
    'an init container without',
    { containers: [container(exact)], initContainers: [container({})] },
    'Burstable',
  ],
  [
    'less than the limits',
    { containers: [container({ requests: all('1', '1Gi'), limits: all('2', '1Gi') })] },
    'Burstable',
  ],
  [
    'zero, where there are limits',
    { containers: [container({ requests: all('0', '0'), limits: all('1', '1Gi') })] },
    'Burstable',
  ],
  [
    'only CPU',
    { containers: [container({ requests: { cpu: '1' }, limits: { cpu: '1' } })] },
    'Burstable',
  ],
  ['as a whole', { containers: [container({})], resources: exact }, 'Guaranteed'],
  [
    'as a whole, less than the limits',
    { containers: [container(exact)], resources: { requests: { cpu: '1' } } },
    'Burstable',
  ],
])('a pod that requests %s', (_, spec, qos) => {
  expect(podQosClass(spec)).toBe(qos);
});
