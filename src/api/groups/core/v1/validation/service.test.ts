// Errors of services and their updates, with upstream's messages.

import { describe, expect, test } from 'vitest';

import { indent, manifest, messages } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { validateService, validateServiceStatusUpdate, validateServiceUpdate } from './index.ts';

const service = (spec: string, more = ''): core.Service =>
  manifest('core/v1.Service', `metadata: {name: s}\nspec:\n${indent(spec)}\n${more}`);

const ports = 'ports: [{port: 80}]';
const IP = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';

describe('a service', () => {
  test.each<[what: string, spec: string, errors: string[]]>([
    ['a good one', ports, []],
    ['no ports', 'selector: {a: b}', ['spec.ports: Required value']],
    ['headless, no ports', 'clusterIP: None\nclusterIPs: [None]', []],
    [
      'two ports, one name',
      'ports: [{port: 80}, {port: 81, name: a}]',
      ['spec.ports[0].name: Required value'],
    ],
    [
      'ports',
      'ports: [{name: a.b, port: 0, protocol: ICMP, targetPort: 70000, ' +
        'appProtocol: "a b"}, {name: a, port: 1, targetPort: A}, {name: a, port: 2}]',
      [
        'spec.ports[0].name: Invalid value: "a.b": must not contain dots',
        'spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
        'spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
        'spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
        expect.stringMatching(/^spec\.ports\[0\]\.appProtocol: Invalid value: "a b": name part/),
        'spec.ports[1].targetPort: Invalid value: "A": must contain only alpha-numeric ' +
          'characters (a-z, 0-9), and hyphens (-)',
        'spec.ports[1].targetPort: Invalid value: "A": must contain at least one letter (a-z)',
        'spec.ports[2].name: Duplicate value: "a"',
      ],
    ],
    [
      'one port twice',
      'ports: [{name: a, port: 80}, {name: b, port: 80}, {name: c, port: 80, protocol: UDP}]',
      [
        'spec.ports[1]: Duplicate value: ' +
          '{"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,' +
          '"NodePort":0}',
      ],
    ],
    [
      'one node port twice',
      'type: NodePort\nports: [{name: a, port: 80, nodePort: 30000}, {name: b, port: 81, ' +
        'nodePort: 30000}, {name: c, port: 80, protocol: UDP, nodePort: 30000}]',
      ['spec.ports[1].nodePort: Duplicate value: 30000'],
    ],
    [
      'a node port on a cluster IP',
      'ports: [{port: 80, nodePort: 30000}]',
      ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ],
    [
      'an unknown type',
      `type: Mine\n${ports}`,
      [
        'spec.type: Unsupported value: "Mine": supported values: "ClusterIP", ' +
          '"ExternalName", "LoadBalancer", "NodePort"',
      ],
    ],
    [
      'headless on the nodes',
      `type: NodePort\nclusterIP: None\nclusterIPs: [None]\n${ports}`,
      [
        'spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for NodePort services',
      ],
    ],
    [
      'headless, balanced',
      `type: LoadBalancer\nclusterIP: None\nclusterIPs: [None]\n${ports}`,
      [
        'spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for LoadBalancer services',
      ],
    ],
    [
      'an address that is none',
      `clusterIP: 1.2.3\nclusterIPs: [1.2.3]\n${ports}`,
      [`spec.clusterIPs[0]: Invalid value: "1.2.3": ${IP}`],
    ],
    [
      'one form of the address only',
      `clusterIP: 10.0.0.1\n${ports}`,
      ['spec.clusterIPs: Required value'],
    ],
    [
      'the other form only',
      `clusterIPs: [10.0.0.1]\n${ports}`,
      [
        'spec.clusterIPs: Invalid value: ["10.0.0.1"]: must be empty when `clusterIP` is not specified',
      ],
    ],
    [
      'two forms that differ',
      `clusterIP: 10.0.0.1\nclusterIPs: [10.0.0.2]\n${ports}`,
      ['spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`'],
    ],
    [
      'none, and more',
      `clusterIP: None\nclusterIPs: [None, 10.0.0.1]\n${ports}`,
      [
        'spec.clusterIPs: Invalid value: ["None","10.0.0.1"]: \'None\' must be the first and only value',
      ],
    ],
    [
      'two of one family',
      `clusterIP: 10.0.0.1\nclusterIPs: [10.0.0.1, 10.0.0.2]\n${ports}`,
      [
        'spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP family',
      ],
    ],
    [
      'of another family than it says',
      `clusterIP: 10.0.0.1\nclusterIPs: [10.0.0.1]\nipFamilies: [IPv6]\n${ports}`,
      [
        'spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`',
      ],
    ],
    [
      'families',
      `ipFamilies: [IPv4, IPv4, IPv5]\nipFamilyPolicy: AnyStack\n${ports}`,
      [
        'spec.ipFamilies[1]: Duplicate value: "IPv4"',
        'spec.ipFamilies[2]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
        'spec.ipFamilyPolicy: Unsupported value: "AnyStack": supported values: ' +
          '"PreferDualStack", "RequireDualStack", "SingleStack"',
      ],
    ],
    ['a name elsewhere', 'type: ExternalName\nexternalName: a.b.', []],
    [
      'a name elsewhere that is none',
      'type: ExternalName\nexternalName: -x',
      [
        expect.stringMatching(
          /^spec\.externalName: Invalid value: "-x": a lowercase RFC 1123 subdomain/,
        ),
      ],
    ],
    ['no name elsewhere', 'type: ExternalName', ['spec.externalName: Required value']],
    [
      'a name elsewhere, and an address',
      'type: ExternalName\nexternalName: a\nclusterIP: 10.0.0.1\nclusterIPs: [10.0.0.1]\n' +
        'ipFamilies: [IPv4]\nipFamilyPolicy: SingleStack',
      [
        'spec.clusterIPs: Forbidden: may not be set for ExternalName services',
        'spec.ipFamilies: Forbidden: may not be set for ExternalName services',
        'spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services',
      ],
    ],
    [
      'a selector',
      `selector: {a: "-"}\n${ports}`,
      [expect.stringMatching(/^spec\.selector: Invalid value: "-": a valid label/)],
    ],
    [
      'affinity',
      `sessionAffinity: Cookie\n${ports}`,
      ['spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None"'],
    ],
    [
      'affinity for too long',
      `sessionAffinity: ClientIP\nsessionAffinityConfig: {clientIP: {timeoutSeconds: 86401}}\n${ports}`,
      [
        'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be ' +
          'greater than 0 and less than 86400',
      ],
    ],
    [
      'special addresses',
      'externalIPs: [0.0.0.0, 127.0.0.1, 169.254.1.1, 224.0.0.1, "::", "::1", "fe80::1", ' +
        `"ff02::1", x, 1.2.3.4, "2001:db8::1"]\n${ports}`,
      [
        'spec.externalIPs[0]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
        'spec.externalIPs[1]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
        'spec.externalIPs[2]: Invalid value: "169.254.1.1": may not be in the link-local ' +
          'range (169.254.0.0/16, fe80::/10)',
        'spec.externalIPs[3]: Invalid value: "224.0.0.1": may not be in the link-local ' +
          'multicast range (224.0.0.0/24, ff02::/10)',
        'spec.externalIPs[4]: Invalid value: "::": may not be unspecified (::)',
        'spec.externalIPs[5]: Invalid value: "::1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
        'spec.externalIPs[6]: Invalid value: "fe80::1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
        'spec.externalIPs[7]: Invalid value: "ff02::1": may not be in the link-local ' +
          'multicast range (224.0.0.0/24, ff02::/10)',
        `spec.externalIPs[8]: Invalid value: "x": ${IP}`,
      ],
    ],
    [
      'from where',
      `type: LoadBalancer\nloadBalancerSourceRanges: [" 10.0.0.0/8 ", x]\n${ports}`,
      [
        'spec.LoadBalancerSourceRanges[1]: Invalid value: "x": must be a valid CIDR value, ' +
          '(e.g. 10.9.8.0/24 or 2001:db8::/64)',
      ],
    ],
    [
      'what only a balancer has',
      `loadBalancerSourceRanges: [10.0.0.0/8]\nallocateLoadBalancerNodePorts: true\nloadBalancerClass: a/b\n${ports}`,
      [
        "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
        "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
        "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
      ],
    ],
    [
      'traffic from outside to where none comes',
      `externalTrafficPolicy: Local\n${ports}`,
      [
        'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
      ],
    ],
    [
      'unknown policies',
      'type: NodePort\nexternalTrafficPolicy: Far\ninternalTrafficPolicy: Near\n' +
        `trafficDistribution: Somewhere\n${ports}`,
      [
        'spec.externalTrafficPolicy: Unsupported value: "Far": supported values: "Cluster", "Local"',
        'spec.internalTrafficPolicy: Unsupported value: "Near": supported values: "Cluster", "Local"',
        'spec.trafficDistribution: Unsupported value: "Somewhere": supported values: ' +
          '"PreferClose", "PreferSameZone", "PreferSameNode"',
      ],
    ],
    [
      'a health check port that is not used',
      `type: NodePort\nhealthCheckNodePort: 30000\n${ports}`,
      [
        'spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is ' +
          "'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      ],
    ],
  ])('%s', (_, spec, errors) => {
    expect(messages(validateService(service(spec)))).toEqual(errors);
  });

  test.each<[annotations: string, errors: string[]]>([
    ['{service.kubernetes.io/topology-mode: Auto}', []],
    [
      '{service.kubernetes.io/topology-mode: Auto, service.kubernetes.io/topology-aware-hints: disabled}',
      [
        'metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "Auto": ' +
          'must match annotations[service.kubernetes.io/topology-aware-hints] when both are ' +
          'specified',
      ],
    ],
    [
      '{service.beta.kubernetes.io/load-balancer-source-ranges: "10.0.0.0/8, x"}',
      [
        'metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: ' +
          "Forbidden: may only be used when `type` is 'LoadBalancer'",
        'metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: ' +
          'Invalid value: "x": must be a valid CIDR value, ' +
          '(e.g. 10.9.8.0/24 or 2001:db8::/64)',
      ],
    ],
  ])('annotations %s', (annotations, errors) => {
    const given = manifest<core.Service>(
      'core/v1.Service',
      `metadata: {name: s, annotations: ${annotations}}\nspec: {${ports}}`,
    );
    expect(messages(validateService(given))).toEqual(errors);
  });
});

describe('changes', () => {
  const one = `clusterIP: 10.0.0.1\nclusterIPs: [10.0.0.1]\nipFamilies: [IPv4]\nipFamilyPolicy: SingleStack\n${ports}`;
  const two =
    'clusterIP: 10.0.0.1\nclusterIPs: [10.0.0.1, "fd00::1"]\nipFamilies: [IPv4, IPv6]\n' +
    `ipFamilyPolicy: RequireDualStack\n${ports}`;
  const none = `clusterIP: None\nclusterIPs: [None]\nipFamilies: [IPv4]\nipFamilyPolicy: SingleStack\n${ports}`;
  test.each<[what: string, old: string, spec: string, errors: string[]]>([
    ['nothing', one, one, []],
    [
      'the address',
      one,
      one.replaceAll('10.0.0.1', '10.0.0.2'),
      ['spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set'],
    ],
    [
      'to headless',
      one,
      none,
      ['spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set'],
    ],
    [
      'from headless',
      none,
      one,
      ['spec.clusterIPs[0]: Invalid value: ["10.0.0.1"]: may not change once set'],
    ],
    [
      'no address',
      one,
      ports,
      [
        'spec.clusterIPs[0]: Invalid value: []: primary clusterIP can not be unset',
        'spec.ipFamilies[0]: Invalid value: []: primary ipFamily can not be unset',
      ],
    ],
    ['a second address', one, two, []],
    ['one address less', two, one, []],
    [
      'one address less, unsaid',
      two,
      one.replace('SingleStack', 'RequireDualStack'),
      [
        'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": must be set to ' +
          "'SingleStack' when releasing the secondary clusterIP",
        'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": must be set to ' +
          "'SingleStack' when releasing the secondary ipFamily",
      ],
    ],
    ['to a name elsewhere', one, 'type: ExternalName\nexternalName: a', []],
    ['from a name elsewhere', 'type: ExternalName\nexternalName: a', one, []],
    [
      'the class of a balancer',
      `type: LoadBalancer\nloadBalancerClass: a/b\n${one}`,
      `type: LoadBalancer\nloadBalancerClass: a/c\n${one}`,
      ['spec.loadBalancerClass: Invalid value: "a/c": may not change once set'],
    ],
    [
      'the port where balancers ask',
      `type: LoadBalancer\nexternalTrafficPolicy: Local\nhealthCheckNodePort: 30000\n${one}`,
      `type: LoadBalancer\nexternalTrafficPolicy: Local\nhealthCheckNodePort: 30001\n${one}`,
      ['spec.healthCheckNodePort: Forbidden: field is immutable'],
    ],
  ])('%s', (_, old, spec, errors) => {
    expect(messages(validateServiceUpdate(service(spec), service(old)))).toEqual(errors);
  });
});

test.each<[what: string, type: string, ingress: string, errors: string[]]>([
  ['a good one', 'LoadBalancer', '[{ip: 1.2.3.4}, {hostname: a.b}]', []],
  [
    'of no balancer',
    'NodePort',
    '[{ip: 1.2.3.4}]',
    ["status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"],
  ],
  [
    'impossible',
    'LoadBalancer',
    '[{ip: x, ipMode: Fast}, {hostname: 1.2.3.4, ipMode: VIP}]',
    [
      `status.loadBalancer.ingress[0].ip: Invalid value: "x": ${IP}`,
      'status.loadBalancer.ingress[0].ipMode: Unsupported value: "Fast": supported values: "Proxy", "VIP"',
      'status.loadBalancer.ingress[1].ipMode: Forbidden: may not be specified when `ip` is not set',
      'status.loadBalancer.ingress[1].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
    ],
  ],
])('status: %s', (_, type, ingress, errors) => {
  const given = service(`type: ${type}\n${ports}`, `status: {loadBalancer: {ingress: ${ingress}}}`);
  expect(messages(validateServiceStatusUpdate(given))).toEqual(errors);
});
