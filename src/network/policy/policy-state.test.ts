// Incremental updates have the same result as a complete decision, and their size is proportional
// to the change.

import { describe, expect, test } from 'vitest';
import { SeededRandom } from '#machinery/random.ts';
import { runSteps } from '#machinery/turn.ts';
import type { CompiledPolicy, Labels, NodeRules, PolicyPod, RulesChange } from './model.ts';
import { decide } from './decide.ts';
import { PolicyState } from './policy-state.ts';
import { compilePolicy } from './rules/compile.ts';
import { apiPolicy, pod, select } from './testing/objects.ts';

/** A copy of the rules to which changes are applied, like a back end. */
class Copy {
  guarded = false;
  readonly pods = new Map<
    string,
    NodeRules['pods'] extends ReadonlyMap<string, infer V> ? V : never
  >();
  readonly policies = new Map<string, CompiledPolicy>();
  readonly groups = new Map<string, Set<string>>();

  apply(rules: NodeRules, change: RulesChange): void {
    this.guarded = rules.guarded;
    for (const address of change.pods) move(this.pods, address, rules.pods.get(address));
    for (const key of change.policies) move(this.policies, key, rules.policies.get(key));
    for (const [id, elements] of change.groups) {
      if (!rules.groups.has(id)) {
        this.groups.delete(id);
        continue;
      }
      const own = this.groups.get(id) ?? new Set();
      this.groups.set(id, own);
      for (const [element, isAdded] of elements) {
        expect(own.has(element)).toBe(!isAdded);
        if (isAdded) own.add(element);
        else own.delete(element);
      }
    }
  }
}

function move<V>(map: Map<string, V>, key: string, value: V | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

const plain = ({ guarded, pods, policies, groups }: NodeRules | Copy): unknown => ({
  guarded,
  pods: [...pods].sort(),
  policies: [...policies.keys()].sort(),
  groups: [...groups]
    .map(([id, group]) => [id, [...(group instanceof Set ? group : group.elements)].sort()])
    .sort(),
});

test.each(['one', 'two', 'three', 'four', 'five', 'six'])(
  'random changes: the same as deciding anew (seed %s)',
  (seed) => {
    const random = new SeededRandom(seed);
    const pick = <T>(items: readonly T[]): T => items[random.int(items.length)]!;
    const labels = (): Labels =>
      Object.fromEntries(
        ['a', 'b'].flatMap((key) => (random.int(2) === 0 ? [] : [[key, pick(['1', '2'])]])),
      );
    const peers = () => [
      pick([
        { podSelector: select('a=1') },
        { namespaceSelector: select('a=1') },
        { namespaceSelector: {}, podSelector: select('b=2') },
        { podSelector: {} },
        { ipBlock: { cidr: '10.0.0.0/29' } },
      ]),
    ];
    const rule = () => ({
      ...(random.int(3) > 0 && { from: peers(), to: peers() }),
      ...(random.int(3) === 0 && { ports: [pick([{ port: 'web' }, { port: 80 }])] }),
    });
    const [namespaces, pods, policies] = [
      new Map<string, Labels>(),
      new Map<string, PolicyPod>(),
      new Map<string, CompiledPolicy>(),
    ];
    const state = new PolicyState();
    const copy = new Copy();
    for (let step = 0; step < 400; step++) {
      const namespace = pick(['x', 'y', 'z']);
      const isGone = random.int(4) === 0;
      const kind = random.int(5);
      if (kind === 0) {
        const next = isGone ? undefined : labels();
        move(namespaces, namespace, next);
        runSteps(state.setNamespace(namespace, next));
      } else if (kind === 1) {
        const key = `${namespace}/${pick(['p', 'q', 'r'])}`;
        const spec = {
          podSelector: pick([{}, select('a=1'), select('b=2')]),
          ingress: [rule()],
          egress: [rule()],
        };
        const types = pick([['Ingress'], ['Egress'], ['Ingress', 'Egress']] as const);
        const next = isGone
          ? undefined
          : compilePolicy(apiPolicy(key, { ...spec, policyTypes: types }));
        move(policies, key, next);
        runSteps(state.setPolicy(key, next));
      } else {
        const key = `${namespace}/${pick(['1', '2', '3', '4', '5', '6'])}`;
        const ips = Array.from({ length: random.int(3) }, () => `10.0.0.${random.int(12)}`);
        const created = `2026-01-0${1 + random.int(9)}T00:00:00Z`;
        const options = {
          ips,
          labels: labels(),
          node: pick(['here', 'there']),
          ports: ['tcp/web=80'],
          created,
        };
        const next = isGone ? undefined : pod(key, options);
        move(pods, key, next);
        runSteps(state.setPod(key, next));
      }
      if (random.int(3) === 0) continue;
      copy.apply(state.rules, state.takeChange());
      const expected = plain(
        decide({ pods: pods.values(), namespaces, policies: policies.values() }),
      );
      expect(plain(state.rules)).toEqual(expected);
      expect(plain(copy)).toEqual(expected);
    }
  },
);

describe('the size of changes', () => {
  const POLICIES = 1000;
  const NAMESPACE_COUNT = 100;
  const POD_COUNT = 10_000;

  function large(): PolicyState {
    const state = new PolicyState();
    const namespaceOf = (index: number): string => `ns${index % NAMESPACE_COUNT}`;
    for (let index = 0; index < NAMESPACE_COUNT; index++)
      runSteps(state.setNamespace(`ns${index}`, { team: `t${index % 10}` }));
    for (let index = 0; index < POLICIES; index++) {
      const key = `${namespaceOf(index)}/p${index}`;
      const from = [
        { podSelector: select(`app=a${index % 20}`) },
        { namespaceSelector: select(`team=t${index % 10}`) },
      ];
      const spec = {
        podSelector: select(`app=a${index % 20}`),
        ingress: [{ from, ports: [{ port: 80 }] }],
      };
      runSteps(state.setPolicy(key, compilePolicy(apiPolicy(key, spec))));
    }
    for (let index = 0; index < POD_COUNT; index++) {
      // Every hundredth pod is on this node.
      const node = index % 99 === 0 ? 'here' : 'there';
      const ips = [`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`];
      const key = `${namespaceOf(index)}/pod${index}`;
      runSteps(state.setPod(key, pod(key, { ips, labels: { app: `a${index % 20}` }, node })));
    }
    state.takeChange();
    return state;
  }

  test('a change of one of 10,000 pods with 1,000 policies: a few elements, no policy', () => {
    const state = large();
    expect(state.rules.policies.size).toBeGreaterThan(50);
    const there = { ips: ['10.9.9.9'], labels: { app: 'a3' }, node: 'there' };
    runSteps(state.setPod('ns7/new', pod('ns7/new', there)));
    const change = state.takeChange();
    expect([change.pods.size, change.policies.size]).toEqual([0, 0]);
    const elements = [...change.groups.values()].reduce((sum, group) => sum + group.size, 0);
    expect(elements).toBeLessThanOrEqual(3);
    runSteps(
      state.setPod(
        'ns0/pod0',
        pod('ns0/pod0', { ips: ['10.0.0.0'], labels: { app: 'a0', more: 'labels' } }),
      ),
    );
    const local = state.takeChange();
    expect([
      [...local.pods],
      local.policies.size,
      [...local.groups.values()].filter(({ size }) => size > 0),
    ]).toEqual([['10.0.0.0'], 0, []]);
  });

  test('the number of elements is limited: missing ones allow nothing, and are added when there is room', () => {
    const state = new PolicyState(3);
    runSteps(
      state.setPolicy(
        'x/p',
        compilePolicy(apiPolicy('x/p', { ingress: [{ from: [{ podSelector: {} }] }] })),
      ),
    );
    for (const index of [1, 2, 3, 4, 5])
      runSteps(state.setPod(`x/${index}`, pod(`x/${index}`, { ips: [`10.0.0.${index}`] })));
    const members = (): string[] =>
      [...state.rules.groups.values()].flatMap(({ elements }) => [...elements]);
    expect([members(), state.incompleteGroups]).toEqual([['10.0.0.1', '10.0.0.2', '10.0.0.3'], 1]);
    for (const index of [1, 2]) runSteps(state.setPod(`x/${index}`, undefined));
    runSteps(state.complete());
    expect([members(), state.incompleteGroups]).toEqual([['10.0.0.3', '10.0.0.4', '10.0.0.5'], 0]);
  });

  test('work over many pods is done in steps', () => {
    const state = large();
    let steps = 0;
    for (const step of state.setNamespace('ns5', { team: 't1' }))
      steps += step === undefined ? 1 : 0;
    expect(steps).toBeGreaterThan(0);
    const from = [
      {
        namespaceSelector: {},
        podSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' } as const] },
      },
    ];
    const policy = compilePolicy(apiPolicy('ns0/all', { ingress: [{ from }] }));
    steps = 0;
    for (const step of state.setPolicy('ns0/all', policy)) steps += step === undefined ? 1 : 0;
    expect(steps).toBeGreaterThan(NAMESPACE_COUNT);
  });
});
