// Updates of services, with the paths and types of the errors. service.test.ts contains the
// messages.

import { describe, expect, test } from 'vitest';

import { indent, manifest } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { validateServiceStatusUpdate, validateServiceUpdate } from './index.ts';

/** Returns a service. `spec`: one field per line; of duplicate fields the last counts. */
function service(spec: string, annotations = '', status = '{}'): core.Service {
  const fields = new Map<string, string>();
  for (const line of `ports: [{name: p, port: 8675}]\n${spec}`.split('\n')) {
    if (line !== '') fields.set(line.slice(0, line.indexOf(':')), line);
  }
  const lines = indent([...fields.values()].join('\n'));
  return manifest(
    'core/v1.Service',
    `metadata: {name: s, annotations: {${annotations}}}\nspec:\n${lines}\nstatus: ${status}`,
  );
}

const short = (now: core.Service, old: core.Service): string[] =>
  validateServiceUpdate(now, old).map(
    ({ field, type }) => `${field.replace('spec.', '')} ${type.replace('FieldValue', '')}`,
  );

type Case = [what: string, old: string, now: string, ...errors: string[]];

function table(cases: readonly Case[]): void {
  test.each(cases)('%s', (_what, old, now, ...errors) => {
    expect(short(service(now), service(old))).toEqual(errors);
  });
}

const at = (address: string, more = ''): string =>
  `clusterIP: ${address}\nclusterIPs: ["${address}"]\n${more}`;
const twice = (first: string, second: string, more = ''): string =>
  `clusterIP: "${first}"\nclusterIPs: ["${first}", "${second}"]\n${more}`;
const families = (policy: string, ...list: string[]): string =>
  `ipFamilyPolicy: ${policy}\nipFamilies: [${list.join(', ')}]\n`;
const type = (name: string): string => `type: ${name}\n`;
const ELSEWHERE = 'type: ExternalName\nexternalName: example.com\nports: []\n';
const FIRST = 'clusterIPs[0] Invalid';

describe('addresses are immutable for any change of the type', () => {
  const TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer'];
  const pairs = TYPES.flatMap((from) => TYPES.map((to): [string, string] => [from, to]));
  test.each(pairs)('%s, %s', (from, to) => {
    const old = service(at('1.2.3.4', type(from)));
    expect(short(service(at('1.2.3.5', type(to))), old)).toEqual([FIRST]);
    expect(short(service(at('1.2.3.4', type(to))), old)).toEqual([]);
    expect(short(service(at('1.2.3.4', type(to))), service(type(from)))).toEqual([]);
    expect(short(service(type(to)), old)).toEqual([FIRST]);
  });

  test.each(TYPES)('elsewhere, and %s', (to) => {
    expect(short(service(at('1.2.3.4', type(to))), service(ELSEWHERE))).toEqual([]);
    expect(short(service(type(to)), service(ELSEWHERE))).toEqual([]);
    expect(short(service(ELSEWHERE), service(at('1.2.3.4', type(to))))).toEqual([]);
  });

  table([
    [
      'elsewhere, and with what it had',
      at('1.2.3.4', families('SingleStack', 'IPv4')),
      `${ELSEWHERE}${at('1.2.3.4', families('SingleStack', 'IPv4'))}`,
      'clusterIPs Forbidden',
      'ipFamilies Forbidden',
      'ipFamilyPolicy Forbidden',
    ],
    [
      'elsewhere, and without an address',
      'type: ClusterIP\nclusterIP: None\nclusterIPs: [None]',
      `${ELSEWHERE}clusterIP: None\nclusterIPs: [None]`,
      'clusterIPs Forbidden',
    ],
    ['headless, and with an address', at('None'), at('1.2.3.4'), FIRST],
    ['with an address, and headless', at('1.2.3.4'), at('None'), FIRST],
    ['headless as before', at('None'), at('None')],
  ]);
});

describe('families', () => {
  const V4 = families('SingleStack', 'IPv4');
  const V6 = families('SingleStack', 'IPv6');
  const both = families('PreferDualStack', 'IPv4', 'IPv6');
  const FAMILY = 'ipFamilies[0] Invalid';
  table([
    ['none, and IPv4', at('1.2.3.4'), at('1.2.3.4', V4)],
    ['none, and IPv6', at('2001::1'), at('2001::1', V6)],
    ['the same', at('1.2.3.4', V4), at('1.2.3.4', V4)],
    ['another one', at('1.2.3.4', V4), at('1.2.3.4', V6), FAMILY, FIRST],
    ['another one, with its address', at('1.2.3.4', V4), at('2001::1', V6), FIRST, FAMILY],
    ['a second', at('1.2.3.4', V4), twice('1.2.3.4', '2001::1', both)],
    [
      'a second, that must be',
      at('1.2.3.4', V4),
      twice('1.2.3.4', '2001::1', families('RequireDualStack', 'IPv4', 'IPv6')),
    ],
    ['a second, whose address will come', at('1.2.3.4', V4), at('1.2.3.4', both)],
    ['a second, unsaid', at('1.2.3.4', V4), at('1.2.3.4', families('PreferDualStack', 'IPv4'))],
    [
      'a second before the first',
      at('1.2.3.4', V4),
      at('1.2.3.4', families('PreferDualStack', 'IPv6', 'IPv4')),
      FAMILY,
      FIRST,
    ],
    [
      'a second that is the first',
      at('1.2.3.4', V4),
      at('1.2.3.4', families('PreferDualStack', 'IPv4', 'IPv4')),
      'ipFamilies[1] Duplicate',
    ],
    ['one less', twice('1.2.3.4', '2001::1', both), at('1.2.3.4', V4)],
    [
      'one address less',
      twice('1.2.3.4', '2001::1', both),
      at('1.2.3.4', families('SingleStack', 'IPv4', 'IPv6')),
    ],
    [
      'one less, unsaid',
      twice('1.2.3.4', '2001::1', both),
      at('1.2.3.4', families('PreferDualStack', 'IPv4')),
      'ipFamilyPolicy Invalid',
      'ipFamilyPolicy Invalid',
    ],
    [
      'one address less, unsaid',
      twice('1.2.3.4', '2001::1', both),
      at('1.2.3.4', both),
      'ipFamilyPolicy Invalid',
    ],
    [
      'one family less, unsaid',
      twice('1.2.3.4', '2001::1', both),
      twice('1.2.3.4', '2001::1', families('PreferDualStack', 'IPv4')),
      'ipFamilyPolicy Invalid',
    ],
    [
      'the other way round',
      twice('1.2.3.4', '2001::1', both),
      twice('2001::1', '1.2.3.4', families('PreferDualStack', 'IPv6', 'IPv4')),
      FIRST,
      'clusterIPs[1] Invalid',
      FAMILY,
      FAMILY,
    ],
    [
      'another second address',
      twice('1.2.3.4', '2001::1', both),
      twice('1.2.3.4', '2002::1', both),
      'clusterIPs[1] Invalid',
    ],
    [
      'another first address',
      twice('1.2.3.4', '2001::1', both),
      twice('1.2.3.5', '2001::1', both),
      FIRST,
    ],
    [
      'another first address, and no second',
      twice('1.2.3.4', '2001::1', both),
      at('1.2.3.5', V4),
      FIRST,
    ],
    ['none any more', at('1.2.3.4', V4), 'type: ClusterIP', FIRST, FAMILY],
    ['others, headless', at('None', V4), at('None', V6)],
    ['both, headless', at('None', V4), at('None', both)],
    ['one, headless', at('None', both), at('None', V6)],
    [
      'the other way round, headless',
      at('None', both),
      at('None', families('PreferDualStack', 'IPv6', 'IPv4')),
    ],
    ['a policy', at('1.2.3.4', V4), at('1.2.3.4', families('RequireDualStack', 'IPv4'))],
    ['elsewhere, and both', ELSEWHERE, twice('1.2.3.4', '2001::1', both)],
    ['both, and elsewhere', twice('1.2.3.4', '2001::1', both), ELSEWHERE],
  ]);
});

describe('load balancers', () => {
  const LB = `${type('LoadBalancer')}${at('1.2.3.4')}`;
  const ofClass = (name: string): string => `${LB}\nloadBalancerClass: ${name}`;
  const CLASS = 'loadBalancerClass Invalid';
  const local = (port: number): string =>
    `${LB}\nexternalTrafficPolicy: Local\nhealthCheckNodePort: ${port}`;
  table([
    ['the class stays', ofClass('example.com/a'), ofClass('example.com/a')],
    ['another class', ofClass('example.com/a'), ofClass('example.com/b'), CLASS],
    ['no class any more', ofClass('example.com/a'), LB, CLASS],
    ['a class', LB, ofClass('example.com/a'), CLASS],
    ['a class of what becomes one', at('1.2.3.4'), ofClass('example.com/a')],
    ['a class of what was elsewhere', ELSEWHERE, ofClass('example.com/a')],
    [
      'a class of what was on nodes',
      `${type('NodePort')}${at('1.2.3.4')}`,
      ofClass('example.com/a'),
    ],
    ['no class of what becomes one', at('1.2.3.4'), LB],
    ['no balancer any more', ofClass('example.com/a'), at('1.2.3.4')],
    ['elsewhere', ofClass('example.com/a'), ELSEWHERE],
    ['an impossible class of what becomes one', at('1.2.3.4'), ofClass('Bad/Class'), CLASS, CLASS],
    ...['ClusterIP', 'NodePort'].map((name): Case => [
      `the class of a ${name}`,
      ofClass('example.com/a'),
      `${type(name)}${at('1.2.3.4')}\nloadBalancerClass: example.com/a`,
      'loadBalancerClass Forbidden',
      'loadBalancerClass Forbidden',
    ]),
    [
      'the class of what is elsewhere',
      ofClass('example.com/a'),
      `${ELSEWHERE}loadBalancerClass: example.com/a`,
      'loadBalancerClass Forbidden',
      'loadBalancerClass Forbidden',
    ],
    ['where it asks', local(30_000), local(30_000)],
    ['another port to ask at', local(30_000), local(30_001), 'healthCheckNodePort Forbidden'],
    ['no port to ask at', local(30_000), local(0), 'healthCheckNodePort Forbidden'],
    ['it need not ask any more', local(30_000), LB],
    ['it asks from now on', LB, local(30_000)],
    ['not every node port', LB, `${LB}\nallocateLoadBalancerNodePorts: false`],
    ['every node port', `${LB}\nallocateLoadBalancerNodePorts: false`, LB],
    [
      'node ports of no balancer',
      LB,
      `${at('1.2.3.4')}\nallocateLoadBalancerNodePorts: true`,
      'allocateLoadBalancerNodePorts Forbidden',
    ],
    ['an address that was asked for', LB, `${LB}\nloadBalancerIP: 5.6.7.8`],
  ]);
});

describe('traffic', () => {
  const inside = (policy: string): string => `${at('1.2.3.4')}\ninternalTrafficPolicy: ${policy}`;
  const outside = (policy: string): string =>
    `${type('NodePort')}${at('1.2.3.4')}\nexternalTrafficPolicy: ${policy}`;
  table([
    ['inside, to what is near', inside('Cluster'), inside('Local')],
    ['inside, to all', inside('Local'), inside('Cluster')],
    ['inside, otherwise', inside('Local'), inside('Never'), 'internalTrafficPolicy NotSupported'],
    ['outside, to what is near', outside('Cluster'), outside('Local')],
    ['outside, to all', outside('Local'), outside('Cluster')],
    [
      'outside, otherwise',
      outside('Local'),
      outside('Never'),
      'externalTrafficPolicy NotSupported',
    ],
    ['near ones first', at('1.2.3.4'), `${at('1.2.3.4')}\ntrafficDistribution: PreferSameZone`],
    [
      'near ones no longer first',
      `${at('1.2.3.4')}\ntrafficDistribution: PreferClose`,
      at('1.2.3.4'),
    ],
    [
      'one place',
      at('1.2.3.4'),
      `${at('1.2.3.4')}\ntrafficDistribution: Never`,
      'trafficDistribution NotSupported',
    ],
    [
      'other pods',
      `${at('1.2.3.4')}\nselector: {a: b}`,
      `${at('1.2.3.4')}\nselector: {a: c, d: e}`,
    ],
    [
      'impossible pods',
      `${at('1.2.3.4')}\nselector: {a: b}`,
      `${at('1.2.3.4')}\nselector: {a: "-"}`,
      'selector Invalid',
    ],
    ['other ports', at('1.2.3.4'), `${at('1.2.3.4')}\nports: [{port: 1}]`],
    ['no ports', at('1.2.3.4'), `${at('1.2.3.4')}\nports: []`, 'ports Required'],
    ['always to the same', at('1.2.3.4'), `${at('1.2.3.4')}\nsessionAffinity: ClientIP`],
  ]);

  const HINTS = 'service.kubernetes.io/topology-aware-hints: auto';
  test.each<[mode: string, errors: string[]]>([
    ['auto', []],
    ['disabled', ['metadata.annotations[service.kubernetes.io/topology-mode] Invalid']],
  ])('hints of %s', (mode, errors) => {
    const annotations = `${HINTS}, service.kubernetes.io/topology-mode: ${mode}`;
    expect(short(service(at('1.2.3.4'), annotations), service(at('1.2.3.4')))).toEqual(errors);
  });
});

describe('addresses that are not canonical may stay', () => {
  const LB = `${type('LoadBalancer')}${at('1.2.3.4')}`;
  const outside = (...list: string[]): string =>
    `${at('1.2.3.4')}\nexternalIPs: [${list.join(', ')}]`;
  const from = (...list: string[]): string =>
    `${LB}\nloadBalancerSourceRanges: [${list.join(', ')}]`;
  const RANGE = (index: number): string => `LoadBalancerSourceRanges[${index}] Invalid`;
  table([
    ['its own', at('1.2.3.04'), at('1.2.3.04', 'selector: {a: b}')],
    [
      'its own and a second',
      at('1.2.3.04'),
      twice('1.2.3.04', '2001::1', families('PreferDualStack', 'IPv4', 'IPv6')),
    ],
    ['external ones', outside('1.2.3.04'), outside('1.2.3.04')],
    ['external ones and another', outside('1.2.3.04'), outside('1.2.3.04', '5.6.7.8')],
    ['external ones, elsewhere in the list', outside('1.2.3.04'), outside('5.6.7.8', '1.2.3.04')],
    ['external ones, mended', outside('1.2.3.04'), outside('1.2.3.4')],
    ['new external ones', outside('1.2.3.4'), outside('1.2.3.04'), 'externalIPs[0] Invalid'],
    [
      'more external ones',
      outside('1.2.3.04'),
      outside('1.2.3.04', '5.6.7.08'),
      'externalIPs[1] Invalid',
    ],
    ['ranges', from('010.0.0.0/8'), from('010.0.0.0/8')],
    ['ranges and another', from('010.0.0.0/8'), from('010.0.0.0/8', '1.2.3.0/24')],
    ['ranges, mended', from('010.0.0.0/8'), from('10.0.0.0/8')],
    ['new ranges', from('10.0.0.0/8'), from('010.0.0.0/8'), RANGE(0)],
    ['more ranges', from('010.0.0.0/8'), from('010.0.0.0/8', '020.0.0.0/8'), RANGE(1)],
  ]);

  const RANGES = 'service.beta.kubernetes.io/load-balancer-source-ranges';
  const annotated = (value: string): string => `${RANGES}: "${value}"`;
  test.each<[what: string, old: string, now: string, ...errors: string[]]>([
    ['as it was', '010.0.0.0/8', '010.0.0.0/8'],
    ['mended', '010.0.0.0/8', '10.0.0.0/8'],
    ['more', '010.0.0.0/8', '010.0.0.0/8,1.2.3.0/24', `metadata.annotations[${RANGES}] Invalid`],
    ['new', '10.0.0.0/8', '010.0.0.0/8', `metadata.annotations[${RANGES}] Invalid`],
  ])('the annotation of ranges: %s', (_what, old, now, ...errors) => {
    expect(short(service(LB, annotated(now)), service(LB, annotated(old)))).toEqual(errors);
  });
});

describe('the status of a load balancer', () => {
  const status = (of: string, ingress: string): core.Service =>
    service(type(of), '', `{loadBalancer: {ingress: ${ingress}}}`);
  const VIP = 'ipMode: VIP';
  const OLD = `{ip: 1.2.3.04, ${VIP}}`;
  test.each<[what: string, of: string, old: string, now: string, ...errors: string[]]>([
    ['none', 'LoadBalancer', '[]', '[]'],
    ['none, of no balancer', 'ClusterIP', '[]', '[]'],
    ['of no balancer', 'ClusterIP', '[]', `[{ip: 1.2.3.4, ${VIP}}]`, 'ingress Forbidden'],
    ['the balancer keeps the address', 'LoadBalancer', '[]', `[{ip: 1.2.3.4, ${VIP}}]`],
    ['the balancer talks itself', 'LoadBalancer', '[]', '[{ip: 1.2.3.4, ipMode: Proxy}]'],
    [
      'another mode',
      'LoadBalancer',
      '[]',
      '[{ip: 1.2.3.4, ipMode: dummy}]',
      'ingress[0].ipMode NotSupported',
    ],
    [
      'a mode without an address',
      'LoadBalancer',
      '[]',
      `[{${VIP}}]`,
      'ingress[0].ipMode Forbidden',
    ],
    ['an address that is not canonical', 'LoadBalancer', '[]', `[${OLD}]`, 'ingress[0].ip Invalid'],
    ['the same as before', 'LoadBalancer', `[${OLD}]`, `[${OLD}]`],
    ['and another', 'LoadBalancer', `[${OLD}]`, `[${OLD}, {ip: 5.6.7.8, ${VIP}}]`],
    ['mended', 'LoadBalancer', `[${OLD}]`, `[{ip: 1.2.3.4, ${VIP}}]`],
    ['a name', 'LoadBalancer', '[]', '[{hostname: lb.example.com}]'],
    ['no name', 'LoadBalancer', '[]', '[{hostname: "-"}]', 'ingress[0].hostname Invalid'],
    [
      'an address as a name',
      'LoadBalancer',
      '[]',
      '[{hostname: 1.2.3.4}]',
      'ingress[0].hostname Invalid',
    ],
  ])('%s', (_what, of, old, now, ...errors) => {
    const found = validateServiceStatusUpdate(status(of, now), status(of, old));
    const short = found.map(
      (error) =>
        `${error.field.replace('status.loadBalancer.', '')} ${error.type.replace('FieldValue', '')}`,
    );
    expect(short).toEqual(errors);
  });
});
