// Further valid and invalid services, with the paths and types of the errors. service.test.ts
// contains the messages.

import { describe, expect, test } from 'vitest';

import { indent, manifest } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { validateService } from './index.ts';

/** Returns a service. `spec`: additional fields, one per line; they replace those of the base. */
function service(spec: string, annotations = ''): core.Service {
  const lines = spec.split('\n').filter((line) => line !== '');
  const nameOf = (line: string): string => line.slice(0, line.indexOf(':'));
  const given = new Set(lines.map(nameOf));
  const base = ['selector: {key: val}', 'ports: [{name: p, port: 8675}]'].filter(
    (line) => !given.has(nameOf(line)),
  );
  const metadata = `metadata: {name: valid, annotations: {${annotations}}}`;
  return manifest(
    'core/v1.Service',
    `${metadata}\nspec:\n${indent([...base, ...lines].join('\n'))}`,
  );
}

const short = (given: core.Service): string[] =>
  validateService(given).map(
    ({ field, type }) => `${field.replace('spec.', '')} ${type.replace('FieldValue', '')}`,
  );

type Case = [what: string, spec: string, ...errors: string[]];

function table(cases: readonly Case[]): void {
  test.each(cases)('%s', (_what, spec, ...errors) => {
    expect(short(service(spec))).toEqual(errors);
  });
}

const HEADLESS = 'clusterIP: None\nclusterIPs: [None]';
const BALANCED = 'type: LoadBalancer';

describe('ports', () => {
  const and = (...more: string[]): string =>
    `ports: [${['{name: p, port: 8675}', ...more].join(', ')}]`;
  table([
    ['one', ''],
    ['none', 'ports: []', 'ports Required'],
    ['none, headless', `ports: []\n${HEADLESS}`],
    ['one without a name', 'ports: [{port: 80}]'],
    ['the second without a name', and('{port: 12345}'), 'ports[1].name Required'],
    [
      'the first without a name',
      'ports: [{port: 80}, {name: p, port: 81}]',
      'ports[0].name Required',
    ],
    ['a name in large letters', 'ports: [{name: INVALID, port: 80}]', 'ports[0].name Invalid'],
    ['one name twice', and('{name: p, port: 12345}'), 'ports[1].name Duplicate'],
    [
      'another protocol',
      'ports: [{port: 80, protocol: INVALID}]',
      'ports[0].protocol NotSupported',
    ],
    ['UDP', 'ports: [{port: 80, protocol: UDP, targetPort: 12345}]'],
    ['a port by name', 'ports: [{port: 80, targetPort: http}]'],
    [
      'a bad name of a port',
      'ports: [{port: 80, targetPort: "-"}]',
      'ports[0].targetPort Invalid',
      'ports[0].targetPort Invalid',
    ],
    ['no port', 'ports: [{port: 0, targetPort: 80}]', 'ports[0].port Invalid'],
    ['a port too high', 'ports: [{port: 65536, targetPort: 1}]', 'ports[0].port Invalid'],
    [
      'a port too high behind it',
      'ports: [{port: 80, targetPort: 65536}]',
      'ports[0].targetPort Invalid',
    ],
    ['headless', `ports: [{port: 11722, targetPort: 11722}]\n${HEADLESS}`],
    ['headless, and another port', `ports: [{port: 11722, targetPort: 11721}]\n${HEADLESS}`],
    ['headless, and a port by name', `ports: [{port: 11722, targetPort: target}]\n${HEADLESS}`],
    [
      'one twice',
      and('{name: q, port: 12345, targetPort: 8080}', '{name: r, port: 12345, targetPort: 80}'),
      'ports[2] Duplicate',
    ],
    [
      'one for three protocols',
      and(
        '{name: q, port: 1}',
        '{name: r, port: 1, protocol: UDP}',
        '{name: s, port: 1, protocol: SCTP}',
      ),
    ],
    [
      'of nodes, of a cluster',
      and('{name: q, port: 1, nodePort: 30000}'),
      'ports[1].nodePort Forbidden',
    ],
    ['of nodes', `type: NodePort\n${and('{name: q, port: 1, nodePort: 30000}')}`],
    ['of nodes, to be found', `type: NodePort\n${and('{name: q, port: 1}')}`],
    [
      'one of nodes twice',
      `type: NodePort\n${and('{name: q, port: 1, nodePort: 1}', '{name: r, port: 2, nodePort: 1}')}`,
      'ports[2].nodePort Duplicate',
    ],
    [
      'one of nodes for three protocols',
      'type: NodePort\n' +
        and(
          '{name: q, port: 1, nodePort: 1}',
          '{name: r, port: 2, nodePort: 1, protocol: UDP}',
          '{name: s, port: 3, nodePort: 1, protocol: SCTP}',
        ),
    ],
    ['of a balancer', `${BALANCED}\n${and('{name: q, port: 1, nodePort: 30000}')}`],
    ['of a balancer, of two protocols', `${BALANCED}\n${and('{name: q, port: 1, protocol: UDP}')}`],
    ['of the nodes themselves', `${BALANCED}\n${and('{name: kubelet, port: 10250}')}`],
    ['spoken', 'ports: [{port: 1, appProtocol: HTTP}]'],
    ['spoken by others', 'ports: [{port: 1, appProtocol: example.com/protocol}]'],
    [
      'an invalid appProtocol',
      'ports: [{port: 1, appProtocol: "example.com/protocol_with{invalid}[characters]"}]',
      'ports[0].appProtocol Invalid',
    ],
  ]);
});

describe('selectors and affinities', () => {
  table([
    ['none', 'selector: {}'],
    ['a bad key', 'selector: {NoSpecialCharsLike=Equals: bar}', 'selector Invalid'],
    [
      'by client',
      'sessionAffinity: ClientIP\nsessionAffinityConfig: {clientIP: {timeoutSeconds: 100}}',
    ],
    [
      'for less than nothing',
      'sessionAffinity: ClientIP\nsessionAffinityConfig: {clientIP: {timeoutSeconds: -1}}',
      'sessionAffinityConfig.clientIP.timeoutSeconds Invalid',
    ],
    [
      'for no time',
      'sessionAffinity: ClientIP\nsessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}',
      'sessionAffinityConfig.clientIP.timeoutSeconds Invalid',
    ],
    // The field is removed.
    [
      'a timeout without an affinity',
      `${BALANCED}\nsessionAffinityConfig: {clientIP: {timeoutSeconds: 90}}`,
    ],
    ['of another kind', 'sessionAffinity: Cookie', 'sessionAffinity NotSupported'],
  ]);
});

describe('addresses', () => {
  const ips = (...list: string[]): string =>
    `clusterIP: "${list[0]}"\nclusterIPs: [${list.map((ip) => `"${ip}"`).join(', ')}]`;
  const families = (...list: string[]): string => `ipFamilies: [${list.join(', ')}]`;
  const BOTH = 'ipFamilyPolicy: RequireDualStack';
  const SINGLE = 'ipFamilyPolicy: SingleStack';
  const PREFER = 'ipFamilyPolicy: PreferDualStack';
  table([
    ['headless', HEADLESS],
    ['one', `${ips('10.0.0.1')}\n${SINGLE}`],
    ['none yet', SINGLE],
    ['a bad one', ips('invalid'), 'clusterIPs[0] Invalid'],
    ['with zeroes', ips('001.002.003.004'), 'clusterIPs[0] Invalid'],
    ['a family', families('IPv4')],
    ['the other family', families('IPv6')],
    ['both families', `${families('IPv4', 'IPv6')}\n${BOTH}`],
    ['both families, the other way', `${families('IPv6', 'IPv4')}\n${BOTH}`],
    ['one of two', `${families('IPv6')}\n${PREFER}`],
    ['both families for one', `${families('IPv4', 'IPv6')}\n${SINGLE}`],
    ['both, if there are', `${families('IPv4', 'IPv6')}\n${PREFER}`],
    ['another family', families('not-a-valid-ip-family'), 'ipFamilies[0] NotSupported'],
    ['no family', families('""'), 'ipFamilies[0] NotSupported'],
    [
      'another second family',
      `${families('IPv4', 'not-a-valid-ip-family')}\n${BOTH}`,
      'ipFamilies[1] NotSupported',
    ],
    ['one family again', `${families('IPv4', 'IPv6', 'IPv4')}\n${BOTH}`, 'ipFamilies[2] Duplicate'],
    ['one family twice', `${families('IPv6', 'IPv6')}\n${BOTH}`, 'ipFamilies[1] Duplicate'],
    ['another policy', 'ipFamilyPolicy: AnyStack', 'ipFamilyPolicy NotSupported'],
    [
      'two bad ones',
      `${ips('garbage-ip', 'garbage-second-ip')}\n${BOTH}`,
      'clusterIPs[0] Invalid',
      'clusterIPs[1] Invalid',
    ],
    ['a bad first one', `${ips('garbage-ip', '2001::1')}\n${BOTH}`, 'clusterIPs[0] Invalid'],
    ['a bad second one', `${ips('2001::1', 'garbage-ip')}\n${BOTH}`, 'clusterIPs[1] Invalid'],
    ['headless, and one', `${ips('None', '2001::1')}\n${BOTH}`, 'clusterIPs Invalid'],
    ['one, and headless', `${ips('2001::1', 'None')}\n${BOTH}`, 'clusterIPs[1] Invalid'],
    [
      'an empty one, and one',
      `${ips('', '2001::1')}\n${BOTH}`,
      'clusterIPs Invalid',
      'clusterIPs[0] Invalid',
    ],
    ['one, and an empty one', `${ips('2001::1', '')}\n${BOTH}`, 'clusterIPs[1] Invalid'],
    [
      'two of the newer family',
      `${ips('2001::1', '2001::4')}\n${BOTH}\n${families('IPv6', 'IPv4')}`,
      'clusterIPs Invalid',
      'clusterIPs[1] Invalid',
    ],
    [
      'two of the older family',
      `${ips('10.0.0.1', '10.0.0.10')}\n${BOTH}\n${families('IPv4', 'IPv6')}`,
      'clusterIPs Invalid',
      'clusterIPs[1] Invalid',
    ],
    [
      'three',
      `${ips('10.0.0.1', '2001::1', '10.0.0.10')}\n${BOTH}\n${families('IPv4', 'IPv6')}`,
      'clusterIPs Invalid',
    ],
    ['two for one', `${ips('10.0.0.1', '2001::1')}\n${SINGLE}\n${families('IPv4', 'IPv6')}`],
    [
      'headless, without a selector, of both families',
      `${HEADLESS}\n${BOTH}\n${families('IPv4', 'IPv6')}\nselector: {}`,
    ],
    [
      'two of one family, if there are',
      `${ips('10.0.0.1', '2001::1')}\n${PREFER}\n${families('IPv4')}`,
    ],
    ['two of one family', `${ips('10.0.0.1', '2001::1')}\n${BOTH}\n${families('IPv4')}`],
    ['of the wrong family', `${ips('10.0.0.1')}\n${families('IPv6')}`, 'clusterIPs[0] Invalid'],
    [
      'of the other wrong family',
      `${ips('2001::1')}\n${families('IPv4')}`,
      'clusterIPs[0] Invalid',
    ],
    ['one of two families', `${ips('10.0.0.1')}\n${BOTH}\n${families('IPv4', 'IPv6')}`],
    ['two', `${ips('10.0.0.1', '2001::1')}\n${BOTH}\n${families('IPv4', 'IPv6')}`],
    ['two, the other way', `${ips('2001::1', '10.0.0.1')}\n${BOTH}\n${families('IPv6', 'IPv4')}`],
    ['two, of no families', `${ips('2001::1', '10.0.0.1')}\n${BOTH}`],
    ['both', BOTH],
    [
      'one that is not the first',
      'clusterIP: 10.0.0.10\nclusterIPs: [10.0.0.1, "2001::1"]\nipFamilyPolicy: RequireDualStack',
      'clusterIPs Invalid',
    ],
    [
      'one that is not the only',
      'clusterIP: 10.0.0.10\nclusterIPs: [10.0.0.1]',
      'clusterIPs Invalid',
    ],
    ['headless, with ports of nodes', `type: NodePort\n${HEADLESS}`, 'clusterIPs[0] Invalid'],
    ['headless, with a balancer', `${BALANCED}\n${HEADLESS}`, 'clusterIPs[0] Invalid'],
  ]);
});

describe('external addresses', () => {
  const external = (...list: string[]): string =>
    `externalIPs: [${list.map((ip) => `"${ip}"`).join(', ')}]`;
  table([
    ['one', external('1.2.3.4')],
    ['of this host', external('127.0.0.1'), 'externalIPs[0] Invalid'],
    ['unspecified', external('0.0.0.0'), 'externalIPs[0] Invalid'],
    ['a name', external('myhost.mydomain'), 'externalIPs[0] Invalid'],
    ['with zeroes', external('001.002.003.004'), 'externalIPs[0] Invalid'],
    ['as another protocol writes it', external('::ffff:1.2.3.4'), 'externalIPs[0] Invalid'],
    ['a name elsewhere', 'type: ExternalName\nexternalName: foo.bar.example.com'],
    ['a name elsewhere, with its dot', 'type: ExternalName\nexternalName: foo.bar.example.com.'],
    [
      'a name elsewhere, and an address',
      'type: ExternalName\nexternalName: a.b\nclusterIP: 1.2.3.4\nclusterIPs: [1.2.3.4]',
      'clusterIPs Forbidden',
    ],
    [
      'a name elsewhere, headless',
      `type: ExternalName\nexternalName: a.b\n${HEADLESS}`,
      'clusterIPs Forbidden',
    ],
    ['no name elsewhere', 'type: ExternalName\nexternalName: "-123"', 'externalName Invalid'],
  ]);
});

describe('load balancers', () => {
  const ranges = (...list: string[]): string =>
    `loadBalancerSourceRanges: [${list.map((range) => `"${range}"`).join(', ')}]`;
  table([
    ['one', BALANCED],
    ['without ports of nodes', `${BALANCED}\nallocateLoadBalancerNodePorts: false`],
    [
      'ports of nodes of none',
      'allocateLoadBalancerNodePorts: true',
      'allocateLoadBalancerNodePorts Forbidden',
    ],
    ['ranges', `${BALANCED}\n${ranges('1.2.3.0/24', '5.6.0.0/16')}`],
    ['ranges with spaces', `${BALANCED}\n${ranges('1.2.3.0/24  ', ' 5.6.0.0/16')}`],
    ['no range', `${BALANCED}\n${ranges('   ')}`, 'LoadBalancerSourceRanges[0] Invalid'],
    [
      'a range of names',
      `${BALANCED}\n${ranges('foo.bar')}`,
      'LoadBalancerSourceRanges[0] Invalid',
    ],
    [
      'a range of nothing',
      `${BALANCED}\n${ranges('1.2.3.4/33')}`,
      'LoadBalancerSourceRanges[0] Invalid',
    ],
    [
      'a range with zeroes',
      `${BALANCED}\n${ranges('001.002.003.000/24')}`,
      'LoadBalancerSourceRanges[0] Invalid',
    ],
    ['ranges of none', ranges('1.2.3.0/24', '5.6.0.0/16'), 'LoadBalancerSourceRanges Forbidden'],
    ['a class', `${BALANCED}\nloadBalancerClass: test.com/test-load-balancer-class`],
    [
      'a bad class',
      `${BALANCED}\nloadBalancerClass: Bad/LoadBalancerClass`,
      'loadBalancerClass Invalid',
    ],
    ['a class of none', 'loadBalancerClass: test.com/a', 'loadBalancerClass Forbidden'],
  ]);

  const KEY = 'service.beta.kubernetes.io/load-balancer-source-ranges';
  const AT = `metadata.annotations[${KEY}]`;
  test.each<[what: string, spec: string, value: string, ...errors: string[]]>([
    ['ranges', BALANCED, '1.2.3.0/24,  5.6.0.0/16'],
    ['nothing', BALANCED, ''],
    ['spaces', BALANCED, '  '],
    ['names', BALANCED, 'foo.bar', `${AT} Invalid`],
    ['no range', BALANCED, '1.2.3.4/33', `${AT} Invalid`],
    ['zeroes', BALANCED, '001.002.003.000/24', `${AT} Invalid`],
    ['of none', '', '1.2.3.0/24', `${AT} Forbidden`],
    ['nothing of none', '', '', `${AT} Forbidden`],
    [
      'names, but the field counts',
      `${BALANCED}\nloadBalancerSourceRanges: [1.2.3.0/24]`,
      'foo.bar',
    ],
  ])('ranges as an annotation: %s', (_what, spec, value, ...errors) => {
    expect(short(service(spec, `${KEY}: "${value}"`))).toEqual(errors);
  });
});

describe('traffic', () => {
  table([
    ['any within', 'internalTrafficPolicy: Cluster'],
    ['local within', 'internalTrafficPolicy: Local'],
    ['another within', 'internalTrafficPolicy: invalid', 'internalTrafficPolicy NotSupported'],
    ['none within', 'internalTrafficPolicy: ""', 'internalTrafficPolicy NotSupported'],
    [
      'within, of a name elsewhere',
      'type: ExternalName\nexternalName: a.b\ninternalTrafficPolicy: Cluster',
    ],
    [
      'another from outside',
      `${BALANCED}\nexternalTrafficPolicy: invalid`,
      'externalTrafficPolicy NotSupported',
    ],
    ['local from outside', 'type: NodePort\nexternalTrafficPolicy: Local'],
    ['from outside, of a cluster', 'externalTrafficPolicy: Local', 'externalTrafficPolicy Invalid'],
    [
      'from outside, of a name elsewhere',
      'type: ExternalName\nexternalName: a.b\nexternalTrafficPolicy: Local',
      'externalTrafficPolicy Invalid',
    ],
    ['asked about', `${BALANCED}\nexternalTrafficPolicy: Local\nhealthCheckNodePort: 31100`],
    [
      'asked about nowhere',
      `${BALANCED}\nexternalTrafficPolicy: Local\nhealthCheckNodePort: -1`,
      'healthCheckNodePort Invalid',
    ],
    [
      'asked about, though any',
      `${BALANCED}\nexternalTrafficPolicy: Cluster\nhealthCheckNodePort: 34567`,
      'healthCheckNodePort Invalid',
    ],
    [
      'asked about, without a balancer',
      'type: NodePort\nexternalTrafficPolicy: Local\nhealthCheckNodePort: 34567',
      'healthCheckNodePort Invalid',
    ],
    [
      'asked about, of a cluster',
      'externalTrafficPolicy: Local\nhealthCheckNodePort: 34567',
      'externalTrafficPolicy Invalid',
      'healthCheckNodePort Invalid',
    ],
    ...['PreferClose', 'PreferSameZone', 'PreferSameNode'].map((where): Case => [
      where,
      `trafficDistribution: ${where}`,
    ]),
    ['anywhere', 'trafficDistribution: Random', 'trafficDistribution NotSupported'],
  ]);

  test('two different hints', () => {
    const annotations =
      'service.kubernetes.io/topology-aware-hints: original, service.kubernetes.io/topology-mode: different';
    expect(short(service('', annotations))).toEqual([
      'metadata.annotations[service.kubernetes.io/topology-mode] Invalid',
    ]);
  });
});
