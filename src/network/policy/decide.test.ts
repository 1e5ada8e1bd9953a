// The policies of a pod, and the addresses in the groups that the policies refer to.

import { describe, expect, test } from 'vitest';
import type { Labels, NetworkPolicy, PolicyPod } from './model.ts';
import { decide } from './decide.ts';
import { compilePolicy } from './rules/compile.ts';
import { apiPolicy, pod, select } from './testing/objects.ts';

const NAMESPACES = new Map<string, Labels>([
  ['x', { team: 'x' }],
  ['y', { team: 'y' }],
]);
const rulesFor = (pods: readonly PolicyPod[], ...policies: readonly NetworkPolicy[]) =>
  decide({ pods, namespaces: NAMESPACES, policies: policies.map(compilePolicy) });
const membersOf = (rules: ReturnType<typeof rulesFor>): string[] =>
  [...rules.groups.values()].flatMap(({ elements }) => [...elements]).sort();

const A = pod('x/a', { ips: ['10.0.0.1', 'fd00::1'], labels: { app: 'a' } });
const B = pod('x/b', { ips: ['10.0.0.2'], labels: { app: 'b' } });
const C = pod('y/c', { ips: ['10.0.1.3'], labels: { app: 'a' }, node: 'there' });

describe('selection', () => {
  test('only pods of this node have rules; an empty selector selects every pod of the namespace', () => {
    const rules = rulesFor([A, B, C], apiPolicy('x/p'), apiPolicy('y/q'));
    const both = { ingress: ['x/p'], egress: ['x/p'] };
    expect(rules.pods).toEqual(
      new Map([
        ['10.0.0.1', both],
        ['fd00::1', both],
        ['10.0.0.2', both],
      ]),
    );
    expect([...rules.policies.keys()]).toEqual(['x/p']);
  });

  test('isolation by direction, by several policies', () => {
    const rules = rulesFor(
      [A, B],
      apiPolicy('x/out', { podSelector: select('app=a'), policyTypes: ['Egress'] }),
      apiPolicy('x/in', { policyTypes: ['Ingress'] }),
      apiPolicy('x/also-in', { podSelector: select('app=a'), policyTypes: ['Ingress'] }),
    );
    expect(rules.pods.get('10.0.0.1')).toEqual({
      ingress: ['x/also-in', 'x/in'],
      egress: ['x/out'],
    });
    expect(rules.pods.get('10.0.0.2')).toEqual({ ingress: ['x/in'], egress: undefined });
  });

  test('without policies nothing is guarded; a policy for other pods guards, too', () => {
    expect(rulesFor([A])).toMatchObject({
      guarded: false,
      pods: new Map([
        ['10.0.0.1', {}],
        ['fd00::1', {}],
      ]),
    });
    expect(rulesFor([A], apiPolicy('y/q'))).toMatchObject({ guarded: true, policies: new Map() });
  });
});

describe('groups', () => {
  const from = (peer: object): NetworkPolicy => apiPolicy('x/p', { ingress: [{ from: [peer] }] });

  test.each<[string, object, string[]]>([
    ['all pods of the own namespace', { podSelector: {} }, ['10.0.0.1', '10.0.0.2', 'fd00::1']],
    ['pods of the own namespace by labels', { podSelector: select('app=b') }, ['10.0.0.2']],
    ['all pods of a namespace', { namespaceSelector: select('team=y') }, ['10.0.1.3']],
    [
      'pods in all namespaces',
      { namespaceSelector: {}, podSelector: select('app=a') },
      ['10.0.0.1', '10.0.1.3', 'fd00::1'],
    ],
    [
      'both selectors hold',
      { namespaceSelector: select('team=y'), podSelector: select('app=b') },
      [],
    ],
  ])('%s', (_, peer, members) => {
    expect(membersOf(rulesFor([A, B, C], from(peer)))).toEqual(members);
  });

  test('no selector matches an unknown namespace', () => {
    const stray = pod('z/d', { ips: ['10.0.1.4'], node: 'there' });
    expect(membersOf(rulesFor([A, stray], from({ namespaceSelector: {} })))).toEqual([
      '10.0.0.1',
      'fd00::1',
    ]);
  });

  test('an address belongs to the newest pod that claims it', () => {
    const old = pod('x/old', {
      ips: ['10.0.1.9', '10.0.1.8'],
      node: 'there',
      created: '2026-01-01T00:00:00Z',
    });
    const next = pod('y/next', {
      ips: ['10.0.1.9'],
      node: 'there',
      created: '2026-01-02T00:00:00Z',
    });
    expect(membersOf(rulesFor([B, old, next], from({ podSelector: {} })))).toEqual([
      '10.0.0.2',
      '10.0.1.8',
    ]);
    expect(
      membersOf(rulesFor([B, old, next], from({ namespaceSelector: select('team=y') }))),
    ).toEqual(['10.0.1.9']);
  });
});
