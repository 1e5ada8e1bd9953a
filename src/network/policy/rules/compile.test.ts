// The meaning of the fields of a policy.

import { describe, expect, test } from 'vitest';
import type { NetworkPolicy } from '../model.ts';
import { apiPolicy, pod, select } from '../testing/objects.ts';
import { compilePolicy, elementsOf, groupsOf } from './compile.ts';

type Spec = Partial<NetworkPolicy['spec']>;
const compile = (spec: Spec) => compilePolicy(apiPolicy('ns/p', spec));

describe('types', () => {
  test.each<[string, Spec, boolean, boolean]>([
    ['both are given', { policyTypes: ['Ingress', 'Egress'] }, true, true],
    ['only egress', { policyTypes: ['Egress'], ingress: [{}] }, false, true],
    ['without types: ingress', { policyTypes: undefined }, true, false],
    [
      'without types but with egress rules: both',
      { policyTypes: undefined, egress: [] },
      true,
      true,
    ],
  ])('%s', (_, spec, ingress, egress) => {
    const compiled = compile(spec);
    expect([compiled.ingress !== undefined, compiled.egress !== undefined]).toEqual([
      ingress,
      egress,
    ]);
  });
});

describe('rules', () => {
  test('a policy without rules allows nothing; an empty rule allows everything', () => {
    expect(compile({}).ingress).toEqual([]);
    expect(compile({ ingress: [{}], egress: [{}] })).toMatchObject({
      ingress: [{ peers: undefined, ports: undefined }],
      egress: [{ peers: undefined, ports: undefined }],
    });
    expect(compile({ ingress: [{ from: [], ports: [] }] }).ingress).toEqual([
      { peers: undefined, ports: undefined },
    ]);
  });

  test('peers: pods of the own namespace, of selected namespaces, of all namespaces', () => {
    const { ingress } = compile({
      ingress: [
        {
          from: [
            { podSelector: select('a=b') },
            { namespaceSelector: select('x=y') },
            { namespaceSelector: {}, podSelector: select('a=b') },
          ],
        },
      ],
    });
    const groups = (ingress?.[0]?.peers ?? []).map((peer) =>
      peer.kind === 'group' ? peer.group : undefined,
    );
    const textOf = (selector: unknown): string => String(selector);
    expect(groups.map((group) => [textOf(group?.namespaces), textOf(group?.pods)])).toEqual([
      ['ns', 'a=b'],
      ['x=y', ''],
      ['', 'a=b'],
    ]);
  });

  test('equal selectors share a group, different ones do not', () => {
    const idsOf = (spec: Spec): string[] => [...groupsOf(compile(spec)).keys()];
    const own = idsOf({ ingress: [{ from: [{ podSelector: select('a=b') }] }] });
    expect(
      idsOf({
        egress: [
          { to: [{ podSelector: select('a=b') }] },
          { to: [{ podSelector: select('a=b') }] },
        ],
      }),
    ).toEqual(own);
    expect(
      idsOf({ ingress: [{ from: [{ namespaceSelector: {}, podSelector: select('a=b') }] }] }),
    ).not.toEqual(own);
    // A namespace by name, and labels whose text is similar.
    const named = idsOf({ ingress: [{ from: [{ podSelector: {} }] }] });
    const labelled = {
      namespaceSelector: { matchExpressions: [{ key: 'ns', operator: 'Exists' }] },
    } as const;
    expect(idsOf({ ingress: [{ from: [labelled] }] })).not.toEqual(named);
  });

  test('blocks without their exceptions, of both families', () => {
    const ranges = (cidr: string, except?: readonly string[]) =>
      compile({
        egress: [{ to: [{ ipBlock: { cidr, ...(except && { except }) } }] }],
      }).egress?.[0]?.peers?.flatMap((peer) =>
        peer.kind === 'ranges'
          ? peer.ranges.map(({ first, last }) => `${first.toString(16)}-${last.toString(16)}`)
          : [],
      );
    expect(ranges('10.0.0.0/24')).toEqual(['a000000-a0000ff']);
    expect(ranges('10.0.0.0/24', ['10.0.0.0/32', '10.0.0.255/32', '10.0.0.16/28'])).toEqual([
      'a000001-a00000f',
      'a000020-a0000fe',
    ]);
    expect(ranges('10.0.0.0/24', ['10.0.0.0/23'])).toEqual([]);
    expect(ranges('fd00::/127', ['fd00::1/128', '10.0.0.0/8'])).toEqual([
      `fd${'0'.repeat(30)}-fd${'0'.repeat(30)}`,
    ]);
  });

  test('ports: numbers, ranges, protocols, merged', () => {
    const { ingress } = compile({
      ingress: [
        {
          ports: [
            { port: 80 },
            { protocol: 'TCP', port: 81, endPort: 90 },
            { protocol: 'TCP', port: 85 },
            { protocol: 'UDP' },
            { protocol: 'SCTP', port: 7 },
          ],
        },
      ],
    });
    expect(ingress?.[0]?.ports).toEqual([
      { kind: 'numbers', protocol: 'tcp', ranges: [[80, 90]] },
      { kind: 'numbers', protocol: 'udp', ranges: [[0, 65_535]] },
      { kind: 'numbers', protocol: 'sctp', ranges: [[7, 7]] },
    ]);
  });
});

describe('named ports', () => {
  const client = pod('ns/client', { ips: ['10.0.0.1'], ports: ['tcp/web=80'] });
  const server = pod('ns/server', {
    ips: ['10.0.0.2', 'fd00::2'],
    ports: ['tcp/web=8080', 'udp/web=53'],
    node: 'there',
  });
  const elements = (spec: Spec, of: typeof client): readonly string[] =>
    [...groupsOf(compile(spec)).values()]
      .filter(({ ports }) => ports)
      .flatMap((group) => elementsOf(group, of, of.addresses));

  test('of ingress: the number in the selected pod, for pods of this node', () => {
    const spec: Spec = { ingress: [{ ports: [{ port: 'web' }] }] };
    expect(elements(spec, client)).toEqual(['10.0.0.1 . tcp . 80']);
    expect(elements(spec, server)).toEqual([]);
  });

  test('of egress: the number in each destination', () => {
    const spec: Spec = {
      policyTypes: ['Egress'],
      egress: [{ ports: [{ port: 'web' }, { protocol: 'UDP', port: 'web' }] }],
    };
    expect(elements(spec, client)).toEqual(['10.0.0.1 . tcp . 80']);
    expect(elements(spec, server)).toEqual([
      '10.0.0.2 . tcp . 8080',
      '10.0.0.2 . udp . 53',
      'fd00::2 . tcp . 8080',
      'fd00::2 . udp . 53',
    ]);
  });

  test('of egress to a block: of pods whose addresses are in it', () => {
    const to = [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.1/32'] } }];
    const spec: Spec = { policyTypes: ['Egress'], egress: [{ to, ports: [{ port: 'web' }] }] };
    expect(elements(spec, client)).toEqual([]);
    expect(elements(spec, server)).toEqual(['10.0.0.2 . tcp . 8080']);
  });

  test('of egress besides numbers: both are allowed', () => {
    const { egress } = compile({
      egress: [{ to: [{ podSelector: {} }], ports: [{ port: 'web' }, { port: 443 }] }],
    });
    expect(
      egress?.map(({ peers, ports }) => [peers?.length, ports?.map(({ kind }) => kind)]),
    ).toEqual([
      [1, ['numbers']],
      [undefined, ['named']],
    ]);
  });
});

describe('a part that cannot be programmed allows nothing, and is a problem', () => {
  test('an empty peer, a range that is not canonical, an unknown protocol', () => {
    const compiled = compile({
      ingress: [
        { from: [{}], ports: [{ protocol: 'ICMP' as 'TCP' }] },
        {
          from: [
            { ipBlock: { cidr: '010.0.0.0/8' } },
            { ipBlock: { cidr: '10.0.0.0/8', except: ['10.1/16'] } },
          ],
        },
      ],
    });
    expect(compiled.ingress).toEqual([
      { peers: [], ports: [] },
      { peers: [], ports: undefined },
    ]);
    expect(compiled.problems).toEqual([
      'spec.ingress[0].peers[0]: is empty',
      'spec.ingress[0].ports[0]: unknown protocol',
      'spec.ingress[1].peers[0].ipBlock: has a range that is not in canonical form',
      'spec.ingress[1].peers[1].ipBlock: has a range that is not in canonical form',
    ]);
  });

  test('invalid selectors: the policy selects all pods, the peer matches none', () => {
    const bad = { matchExpressions: [{ key: 'a', operator: 'Near' as 'In' }] };
    const whole = compile({ podSelector: bad, ingress: [{}] });
    expect([whole.selector.matches({ any: 'pod' }), whole.ingress, whole.problems]).toEqual([
      true,
      [],
      ['spec.podSelector: is no valid selector'],
    ]);
    const peers = compile({ ingress: [{ from: [{ podSelector: bad }] }] });
    expect([...groupsOf(peers).values()].map(({ pods }) => pods.matches({}))).toEqual([false]);
  });

  test('a policy with too many parts for one turn', () => {
    const except = Array.from(
      { length: 10_000 },
      (_, index) => `10.${index >> 8}.${index & 255}.0/32`,
    );
    const compiled = compile({ egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8', except } }] }] });
    expect([compiled.egress, compiled.problems]).toEqual([
      [],
      ['spec: has more than 10000 peers, ranges and ports'],
    ]);
    const allowed = compile({
      egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8', except: except.slice(0, 9000) } }] }],
    });
    expect(allowed.problems).toEqual([]);
  });
});
