import { expect, test } from 'vitest';
import { apiPod, NODE } from '../testing/objects.ts';
import { podFacts } from './pod-facts.ts';

test('a pod of this node, and a pod of another node', () => {
  const ips = ['10.0.0.1', 'FD00:0:0::1', '10.0.0.1', 'none'];
  const here = podFacts(apiPod('ns/a', { ips, labels: { a: 'b' } }), NODE, undefined);
  expect(here).toMatchObject({
    key: 'ns/a',
    namespace: 'ns',
    labels: { a: 'b' },
    addresses: ['10.0.0.1', 'fd00::1'],
    local: true,
  });
  expect(podFacts(apiPod('ns/a', { node: 'there' }), NODE, undefined)).toMatchObject({
    addresses: [],
    local: false,
  });
});

test('pods without policies: those of the host network, and ended ones', () => {
  expect(podFacts(apiPod('ns/a', { hostNetwork: true }), NODE, undefined)).toBeUndefined();
  for (const phase of ['Succeeded', 'Failed'])
    expect(podFacts(apiPod('ns/a', { phase }), NODE, undefined)).toBeUndefined();
  for (const phase of ['Pending', 'Running', 'Unknown'])
    expect(podFacts(apiPod('ns/a', { phase }), NODE, undefined)).toBeDefined();
});

test('addresses from the kubelet take precedence, since they are newer than the API’s', () => {
  const pod = apiPod('ns/a', { ips: ['10.0.0.1'] });
  const reported = podFacts(pod, NODE, undefined);
  const announced = podFacts(pod, NODE, { addresses: ['10.0.0.2'], sequence: 1 });
  expect(announced).toMatchObject({ addresses: ['10.0.0.2'], local: true });
  expect(podFacts(pod, NODE, { addresses: [], sequence: 2 })?.addresses).toEqual(['10.0.0.1']);
  expect(announced?.since).toBeGreaterThan(reported?.since ?? Infinity);
});

test('named ports of containers and sidecars, not of other init containers', () => {
  const pod = apiPod('ns/a', { ports: ['tcp/web=80', 'udp/dns=53', 'tcp/=1'] });
  const init = [
    { name: 'i', ports: [{ name: 'init', containerPort: 1 }] },
    { name: 's', restartPolicy: 'Always', ports: [{ name: 'side', containerPort: 2 }] },
  ];
  const facts = podFacts(
    { ...pod, spec: { ...pod.spec, initContainers: init as never } },
    NODE,
    undefined,
  );
  expect(facts?.ports).toEqual([
    { name: 'web', protocol: 'tcp', port: 80 },
    { name: 'dns', protocol: 'udp', port: 53 },
    { name: 'side', protocol: 'tcp', port: 2 },
  ]);
});
