// Errors of network policies. Each row is a change to a valid object, and the resulting errors.

import { describe, expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES, rows, variation } from '#api/testing/variation.ts';
import type * as networking from '../types.ts';
import { validateNetworkPolicy } from './index.ts';

const policyOf = variation<networking.NetworkPolicy>('networking/v1.NetworkPolicy', {
  metadata: { name: 'foo', namespace: 'bar' },
  spec: { podSelector: { matchLabels: { a: 'b' } } },
});
const policy = (spec: object): networking.NetworkPolicy => policyOf({ spec });
const check = (spec: object): string[] => messages(validateNetworkPolicy(policy(spec)));

const from = (...peers: readonly object[]): object => ({ ingress: [{ from: peers }] });
const to = (...peers: readonly object[]): object => ({ egress: [{ to: peers }] });
const into = (...ports: readonly object[]): object => ({ ingress: [{ ports }] });
const out = (...ports: readonly object[]): object => ({ egress: [{ ports }] });
const pods = { podSelector: { matchLabels: { c: 'd' } } };
const namespaces = { namespaceSelector: { matchLabels: { c: 'd' } } };
const v4 = { ipBlock: { cidr: '192.168.0.0/16', except: ['192.168.3.0/24', '192.168.4.0/24'] } };
const v6 = {
  ipBlock: { cidr: 'fd00:192:168::/48', except: ['fd00:192:168:3::/64', 'fd00:192:168:4::/64'] },
};
const block = (cidr: string, ...except: readonly string[]): object =>
  from({ ipBlock: { cidr, except } });
const PORTS = [
  { port: 80 },
  { protocol: 'TCP' },
  { protocol: 'TCP', port: 443 },
  { protocol: 'UDP', port: 'dns' },
  { protocol: 'SCTP', port: 7777 },
];

describe('valid', () => {
  test.each(
    rows<[spec: object]>([
      [{ ingress: [{}] }],
      [{ ingress: [{ ports: [{}] }] }],
      [into(...PORTS)],
      [out(...PORTS)],
      [from(pods)],
      [from(namespaces)],
      [from({ ...pods, ...namespaces })],
      [from(v4)],
      [from(v6)],
      [{ ...to(namespaces), ...from(v4) }],
      [{ ...to(namespaces), ...from(v6) }],
      [{ ...to(v4), policyTypes: ['Egress'] }],
      [{ ...to(v6), policyTypes: ['Egress'] }],
      [{ ...to(v4), policyTypes: ['Ingress', 'Egress'] }],
      [{ ...to(v6), policyTypes: ['Ingress', 'Egress'] }],
      [out({ port: 32_000, endPort: 32_768 }, { protocol: 'UDP', port: 'dns' })],
      [
        {
          egress: [
            {
              to: [namespaces],
              ports: [
                { port: 30_000, endPort: 32_768 },
                { port: 32_000, endPort: 32_768 },
              ],
            },
          ],
        },
      ],
      [{ ...from(pods), ...into({ protocol: 'TCP', port: 32_768, endPort: 32_768 }) }],
      [{ podSelector: { matchLabels: null } }],
    ]),
  )('%s', (_, spec) => {
    expect(check(spec)).toEqual([]);
  });
});

describe('invalid', () => {
  const NAME = `Invalid value: "No=Equals": ${NAME_MESSAGES.namePart}`;
  const bad = { matchLabels: { 'No=Equals': 'b' } };
  const NO_PROTOCOL = 'Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"';
  const NO_PORT = 'must be between 1 and 65535, inclusive';
  const NO_CIDR = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
  const BOTH = 'may not specify both ipBlock and another peer';
  const IN = 'spec.ingress[0]';
  const OUT = 'spec.egress[0]';

  test.each(
    rows<[spec: object, errors: readonly string[]]>([
      [from({ ...namespaces, ...v4 }), [`${IN}.from[0]: Forbidden: ${BOTH}`]],
      [to({ ...pods, ...v4 }), [`${OUT}.to[0]: Forbidden: ${BOTH}`]],
      [
        { ...from({}), ...to({}) },
        [
          `${IN}.from[0]: Required value: must specify a peer`,
          `${OUT}.to[0]: Required value: must specify a peer`,
        ],
      ],
      [{ podSelector: bad }, [`spec.podSelector.matchLabels: ${NAME}`]],
      [from({ podSelector: bad }), [`${IN}.from[0].podSelector.matchLabels: ${NAME}`]],
      [to({ podSelector: bad }), [`${OUT}.to[0].podSelector.matchLabels: ${NAME}`]],
      [from({ namespaceSelector: bad }), [`${IN}.from[0].namespaceSelector.matchLabels: ${NAME}`]],
      [to({ namespaceSelector: bad }), [`${OUT}.to[0].namespaceSelector.matchLabels: ${NAME}`]],
      [
        { podSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['-1'] }] } },
        [
          `spec.podSelector.matchExpressions[0].values[0]: Invalid value: "-1": ${NAME_MESSAGES.labelValue}`,
        ],
      ],
      [into({ protocol: 'ICMP', port: 80 }), [`${IN}.ports[0].protocol: ${NO_PROTOCOL}`]],
      [out({ protocol: 'ICMP', port: 80 }), [`${OUT}.ports[0].protocol: ${NO_PROTOCOL}`]],
      [into({ port: 123_456_789 }), [`${IN}.ports[0].port: Invalid value: 123456789: ${NO_PORT}`]],
      [out({ port: 123_456_789 }), [`${OUT}.ports[0].port: Invalid value: 123456789: ${NO_PORT}`]],
      [into({ port: 0 }), [`${IN}.ports[0].port: Invalid value: 0: ${NO_PORT}`]],
      [
        into({ port: '!@#$' }),
        [
          `${IN}.ports[0].port: Invalid value: "!@#$": must contain only alpha-numeric ` +
            'characters (a-z, 0-9), and hyphens (-)',
          `${IN}.ports[0].port: Invalid value: "!@#$": must contain at least one letter (a-z)`,
        ],
      ],
      [
        out({ port: 'much-too-long-for-it' }),
        [
          `${OUT}.ports[0].port: Invalid value: "much-too-long-for-it": must be no more than 15 characters`,
        ],
      ],
      [from({ ipBlock: { cidr: '' } }), [`${IN}.from[0].ipBlock.cidr: Required value`]],
      [
        block('192.168.5.6'),
        [`${IN}.from[0].ipBlock.cidr: Invalid value: "192.168.5.6": ${NO_CIDR}`],
      ],
      [
        block('fd00:192:168::'),
        [`${IN}.from[0].ipBlock.cidr: Invalid value: "fd00:192:168::": ${NO_CIDR}`],
      ],
      [
        block('192.168.0.1/16', '192.168.03.0/24', '192.168.3.1/24', '10.0.0.1/24'),
        [
          `${IN}.from[0].ipBlock.cidr: Invalid value: "192.168.0.1/16": must not have bits ` +
            'set beyond the prefix length',
          `${IN}.from[0].ipBlock.except[0]: Invalid value: "192.168.03.0/24": must not ` +
            'have leading 0s in IP or prefix length',
          `${IN}.from[0].ipBlock.except[1]: Invalid value: "192.168.3.1/24": must not have ` +
            'bits set beyond the prefix length',
          `${IN}.from[0].ipBlock.except[2]: Invalid value: "10.0.0.1/24": must not have ` +
            'bits set beyond the prefix length',
          `${IN}.from[0].ipBlock.except[2]: Invalid value: "10.0.0.1/24": must be a strict subset of \`cidr\``,
        ],
      ],
      [
        block('::ffff:1.2.0.0/112'),
        [
          `${IN}.from[0].ipBlock.cidr: Invalid value: "::ffff:1.2.0.0/112": must not have an IPv4-mapped IPv6 address`,
        ],
      ],
      ...['', ' ', '300.300.300.300'].map((except): [object, string[]] => [
        block('192.168.0.0/16', except),
        [`${IN}.from[0].ipBlock.except[0]: Invalid value: "${except}": ${NO_CIDR}`],
      ]),
      ...(
        [
          ['192.168.8.0/24', '192.168.9.1/32'],
          ['192.168.0.0/24', '192.168.0.0/24'],
          ['192.168.0.0/24', '192.168.0.0/16'],
          ['fd00:192:168:1::/64', 'fd00:192:168:2::/64'],
          ['fd00:192:168:1::/64', '192.168.0.0/24'],
        ] as const
      ).map(([cidr, except]): [object, string[]] => [
        block(cidr, except),
        [
          `${IN}.from[0].ipBlock.except[0]: Invalid value: "${except}": must be a strict subset of \`cidr\``,
        ],
      ]),
      [
        { policyTypes: ['foo', 'bar'] },
        ['foo', 'bar'].map(
          (type, index) =>
            `spec.policyTypes[${index}]: Unsupported value: "${type}": supported values: "Ingress", "Egress"`,
        ),
      ],
      [
        { policyTypes: ['foo', 'bar', 'baz'] },
        [
          'spec.policyTypes: Invalid value: ["foo","bar","baz"]: may not specify more than two policyTypes',
        ],
      ],
      [
        out({ protocol: 'UDP', port: 35_000, endPort: 32_768 }, { port: 32_000, endPort: 32_768 }),
        [
          `${OUT}.ports[0].endPort: Invalid value: 35000: must be greater than or equal to \`port\``,
        ],
      ],
      [
        out({ port: 'dns', endPort: 32_768 }),
        [
          `${OUT}.ports[0].endPort: Invalid value: 32768: may not be specified when \`port\` is non-numeric`,
        ],
      ],
      [
        out({ protocol: 'TCP', endPort: 32_768 }),
        [
          `${OUT}.ports[0].endPort: Invalid value: 32768: may not be specified when \`port\` is not specified`,
        ],
      ],
      [
        into({ protocol: 'SCTP', port: 35_000, endPort: 32_768 }),
        [`${IN}.ports[0].endPort: Invalid value: 35000: must be greater than or equal to \`port\``],
      ],
      [
        out(
          { port: 35_000, endPort: 32_768 },
          { endPort: 32_768 },
          { port: 'https', endPort: 32_768 },
        ),
        [
          `${OUT}.ports[0].endPort: Invalid value: 35000: must be greater than or equal to \`port\``,
          `${OUT}.ports[1].endPort: Invalid value: 32768: may not be specified when \`port\` is not specified`,
          `${OUT}.ports[2].endPort: Invalid value: 32768: may not be specified when \`port\` is non-numeric`,
        ],
      ],
      [
        out({ port: 30_000, endPort: 65_537 }),
        [`${OUT}.ports[0].endPort: Invalid value: 65537: ${NO_PORT}`],
      ],
    ]),
  )('%s', (_, spec, errors) => {
    expect(check(spec)).toEqual(errors);
  });
});

describe('updates', () => {
  const selecting = (value: string): object => ({
    podSelector: {
      matchLabels: null,
      matchExpressions: [{ key: 'a', operator: 'In', values: [value] }],
    },
  });
  test.each(
    rows<[now: object, old: object, count: number]>([
      [{}, {}, 0],
      [{}, { podSelector: { matchLabels: null } }, 0],
      [selecting('-1'), {}, 1],
      [selecting('-1'), selecting('-1'), 0],
      [{ ...selecting('-1'), ...from(v4) }, selecting('-2'), 0],
      [
        from({ podSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['-1'] }] } }),
        selecting('-1'),
        0,
      ],
    ]),
  )('to %s', (_, now, old, count) => {
    expect(validateNetworkPolicy(policy(now), policy(old))).toHaveLength(count);
  });

  test('existing ranges may stay, at any place', () => {
    const old = policy(block('192.168.0.1/16', '192.168.03.0/24'));
    const egress = [{ to: [{ ipBlock: { cidr: '192.168.0.1/16', except: ['192.168.03.0/24'] } }] }];
    expect(messages(validateNetworkPolicy(policy({ egress }), old))).toEqual([]);
    expect(
      messages(validateNetworkPolicy(policy(block('192.168.03.0/24', '192.168.03.1/32')), old)),
    ).toEqual([
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "192.168.03.1/32": must ' +
        'not have leading 0s in IP or prefix length',
    ]);
  });
});

test('defaults', () => {
  expect(policy({ ...into({ port: 80 }) }).spec.ingress?.[0]?.ports).toEqual([
    { protocol: 'TCP', port: 80 },
  ]);
  expect(policy({}).spec.policyTypes).toEqual(['Ingress']);
  expect(policy(to(pods)).spec.policyTypes).toEqual(['Ingress', 'Egress']);
  expect(policy({ ...from(pods), ...to(pods), policyTypes: ['Egress'] }).spec.policyTypes).toEqual([
    'Egress',
  ]);
});
