// Further valid and invalid nodes, with the paths and types of the errors. kinds.test.ts contains
// the messages.

import { describe, expect, test } from 'vitest';

import type { FieldErrorList } from '#machinery/validation/field.ts';
import { manifest, messages } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { validateNode, validateNodeUpdate } from './index.ts';

const node = (yaml: string): core.Node => manifest('core/v1.Node', yaml);

const short = (errors: FieldErrorList): string[] =>
  errors.map(({ field, type }) => `${field} ${type.replace('FieldValue', '')}`);

type Case = [what: string, yaml: string, ...errors: string[]];

function table(cases: readonly Case[]): void {
  test.each(cases)('%s', (_what, yaml, ...errors) => {
    expect(short(validateNode(node(yaml)))).toEqual(errors);
  });
}

// Allocatable defaults to the capacity, so an error in it is reported twice.
describe('nodes', () => {
  const READY =
    'status: {addresses: [{type: ExternalIP, address: something}], capacity: {cpu: 10, memory: 10G}}';
  const taint = (list: string): string => `${READY}\nspec: {taints: [${list}]}`;
  table([
    ['with addresses and labels', `metadata: {name: abc, labels: {a: b}}\n${READY}`],
    ['of others', `${READY}\nspec: {providerID: aws:///i-1, podCIDRs: [192.168.0.0/16]}`],
    [
      'with resources of others',
      'status: {capacity: {cpu: 10, my.org/gpu: 10, hugepages-2Mi: 10Gi, hugepages-1Gi: 0}}',
    ],
    [
      'with volumes',
      'status: {capacity: {cpu: 10, attachable-volumes-aws-ebs: 39}, allocatable: {attachable-volumes-aws-ebs: 39}}',
    ],
    ['empty', '{}'],
    [
      'tainted',
      taint(
        '{key: GPU, value: "true", effect: NoSchedule}, {key: zone, effect: NoExecute, ' +
          'timeAdded: "2026-01-01T00:00:00Z"}',
      ),
    ],
    [
      'one key, two effects',
      taint(
        '{key: a, effect: NoSchedule}, {key: a, effect: PreferNoSchedule}, {key: a, effect: NoExecute}',
      ),
    ],
    [
      'a taint without a key',
      taint('{effect: NoSchedule}'),
      'metadata.taints[0].key Invalid',
      'metadata.taints[0].key Invalid',
    ],
    [
      'a key of two words',
      taint('{key: special user, effect: NoSchedule}'),
      'metadata.taints[0].key Invalid',
    ],
    [
      'a value of two words',
      taint('{key: a, value: some value, effect: NoSchedule}'),
      'metadata.taints[0].value Invalid',
    ],
    [
      'a taint without an effect',
      taint('{key: a, value: b}'),
      'metadata.taints[0].effect Required',
    ],
    ['another effect', taint('{key: a, effect: Never}'), 'metadata.taints[0].effect NotSupported'],
    [
      'one taint twice',
      taint('{key: a, value: b, effect: NoSchedule}, {key: a, value: c, effect: NoSchedule}'),
      'metadata.taints[1] Duplicate',
    ],
    [
      'less than nothing',
      'status: {capacity: {cpu: "-10"}}',
      'status.capacity.cpu Invalid',
      'status.allocatable.cpu Invalid',
    ],
    ['a half of a pod', 'status: {allocatable: {pods: 500m}}', 'status.allocatable.pods Invalid'],
    [
      'a half of something of others',
      'status: {capacity: {my.org/gpu: 500m}}',
      'status.capacity.my.org/gpu Invalid',
      'status.allocatable.my.org/gpu Invalid',
    ],
    ['a half of a byte', 'status: {capacity: {memory: 500m}}'],
  ]);
});

describe('ranges of pods', () => {
  const of = (...list: string[]): string =>
    `spec: {podCIDRs: [${list.map((cidr) => `"${cidr}"`).join(', ')}]}`;
  const FEW = 'spec.podCIDRs Invalid';
  table([
    ['none', of()],
    ['of the fourth version', of('192.168.0.0/16')],
    ['of the sixth', of('2000::/10')],
    ['of both', of('192.168.0.0/16', '2000::/10')],
    ['the other way round', of('2000::/10', '192.168.0.0/16')],
    ['no range', of('this-is-not-a-valid-cidr'), 'spec.podCIDRs[0] Invalid'],
    ['an address', of('192.168.0.1'), 'spec.podCIDRs[0] Invalid'],
    ['with zeros in front', of('192.168.000.000/16'), 'spec.podCIDRs[0] Invalid'],
    ['an address in it', of('192.168.0.1/16'), 'spec.podCIDRs[0] Invalid'],
    [
      'no range, and another',
      of('2000::/10', 'x'),
      'spec.podCIDRs[1] Invalid',
      'spec.podCIDRs InternalError',
      FEW,
    ],
    ['one twice', of('10.0.0.0/16', '10.0.0.0/16'), FEW],
    ['one of the sixth twice', of('2000::/10', '2000::/10'), FEW],
    [
      'an address in it, twice',
      of('10.0.0.1/16', '10.0.0.1/16'),
      'spec.podCIDRs[0] Invalid',
      'spec.podCIDRs[1] Invalid',
      FEW,
    ],
    ['two of the fourth', of('10.0.0.0/16', '10.1.0.0/16'), FEW],
    ['two of the sixth', of('2000::/10', '3000::/10'), FEW],
    ['two of the sixth and one', of('2000::/10', '10.0.0.0/16', '3000::/10'), FEW],
    ['two of the fourth and one', of('10.0.0.0/16', '3000::/10', '10.1.0.0/16'), FEW],
  ]);
});

describe('annotations', () => {
  const annotated = (name: string, value: unknown): string =>
    `metadata: {name: abc, annotations: {scheduler.alpha.kubernetes.io/${name}: ` +
    `${JSON.stringify(JSON.stringify(value))}}}`;
  const controller = {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    name: 'foo',
    uid: 'abcdef',
    controller: true,
  };
  const avoid = (...list: readonly unknown[]): string =>
    annotated('preferAvoidPods', { preferAvoidPods: list });
  const FIRST =
    'metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[0].PodSignature';
  table([
    [
      'pods of a controller',
      avoid({ podSignature: { podController: controller }, reason: 'some', message: 'some' }),
    ],
    ['no pods', avoid()],
    ['nothing', annotated('preferAvoidPods', null)],
    ['pods without a signature', avoid({ reason: 'some' }), `${FIRST} Required`],
    ['pods with an empty signature', avoid({ podSignature: {} }), `${FIRST} Required`],
    [
      'pods of an owner that does not control them',
      avoid({ podSignature: { podController: { ...controller, controller: false } } }),
      `${FIRST}.PodController.Controller Invalid`,
    ],
    ['a list', annotated('preferAvoidPods', []), 'metadata.annotations.AvoidPods Invalid'],
    ['taints', annotated('taints', [{ key: 'a', value: 'b', effect: 'NoSchedule' }])],
    ['no taints', annotated('taints', [])],
    ['a taint without a list', annotated('taints', { key: 'a' }), 'metadata.annotations Invalid'],
    [
      'a bad taint',
      annotated('taints', [{ key: 'a', effect: 'Never' }]),
      'metadata.annotations.scheduler.alpha.kubernetes.io/taints[0].effect NotSupported',
    ],
  ]);
});

describe('memory on disk', () => {
  const CAPACITY = 'metadata.nodeSwapStatus.capacity Invalid';
  table([
    ['unknown', 'status: {nodeInfo: {swap: {}}}'],
    ['some', 'status: {nodeInfo: {swap: {capacity: 123456}}}'],
    ['none', 'status: {nodeInfo: {swap: {capacity: 0}}}', CAPACITY],
    ['less than none', 'status: {nodeInfo: {swap: {capacity: -123456}}}', CAPACITY],
  ]);
});

describe('declared features', () => {
  const AT = 'status.declaredFeatures';
  const LONG = `F${'e'.repeat(253)}`;
  test.each<[what: string, list: string[], ...errors: string[]]>([
    ['nothing', []],
    ['in order', ['AnotherFeature', 'MyFeature', 'MyFeature/SubFeature']],
    ['twice the same', ['MyFeature', 'MyFeature'], `${AT}[1]: Duplicate value: "MyFeature"`],
    [
      'in another order',
      ['MyFeature', 'AnotherFeature'],
      `${AT}[1]: Invalid value: "AnotherFeature": list must be sorted alphabetically`,
    ],
    [
      'a small letter first',
      ['myFeature'],
      `${AT}[0]: Invalid value: "myFeature": invalid feature name "myFeature": must start`,
    ],
    [
      'a dash',
      ['Feature-name'],
      `${AT}[0]: Invalid value: "Feature-name": invalid feature name "Feature-name": must start`,
    ],
    [
      'nothing behind the slash',
      ['FeatureA/'],
      `${AT}[0]: Invalid value: "FeatureA/": invalid feature name "FeatureA/": must start`,
    ],
    [
      'too long',
      [LONG],
      `${AT}[0]: Invalid value: "${LONG}": invalid feature name "${LONG}": must be no more than 253 characters`,
    ],
    [
      'a bad one between good ones',
      ['AnotherFeature', 'invalid', 'MyFeature'],
      `${AT}[1]: Invalid value: "invalid": invalid feature name "invalid": must start`,
      `${AT}[2]: Invalid value: "MyFeature": list must be sorted alphabetically`,
    ],
  ])('%s', (_what, list, ...errors) => {
    const given = node(`status: {declaredFeatures: [${list.join(', ')}]}`);
    for (const found of [validateNode(given), validateNodeUpdate(given, node('{}'))]) {
      expect(
        messages(found).map((message, index) => message.slice(0, errors[index]?.length)),
      ).toEqual(errors);
    }
  });
});

describe('changes', () => {
  const CIDRS = 'spec.podCIDRs Forbidden';
  const SOURCE = 'spec.configSource';
  const config = (more: string): string => `spec: {configSource: {configMap: {${more}}}}`;
  const status = (more: string): string => `status: {config: {assigned: {configMap: {${more}}}}}`;
  const ASSIGNED = 'status.config.assigned';
  const WHOLE = 'namespace: ns, name: abc, kubeletConfigKey: kubelet';
  test.each<[what: string, old: string, now: string, ...errors: string[]]>([
    ['nothing', '{}', '{}'],
    ['labels', 'metadata: {labels: {foo: bar}}', 'metadata: {labels: {foo: baz}}'],
    ['no labels any more', 'metadata: {labels: {bar: foo}}', 'metadata: {labels: {Foo: baz}}'],
    ['a range', '{}', 'spec: {podCIDRs: [192.168.0.0/16]}'],
    ['both ranges', '{}', 'spec: {podCIDRs: [192.168.0.0/16, "2000::/10"]}'],
    [
      'another range',
      'spec: {podCIDRs: [192.123.0.0/16]}',
      'spec: {podCIDRs: [192.168.0.0/16]}',
      CIDRS,
    ],
    [
      'one range less',
      'spec: {podCIDRs: [10.0.0.0/8, "2000::/10"]}',
      'spec: {podCIDRs: [10.0.0.0/8]}',
      CIDRS,
    ],
    [
      'one range more',
      'spec: {podCIDRs: [10.0.0.0/8]}',
      'spec: {podCIDRs: [10.0.0.0/8, "2000::/10"]}',
      CIDRS,
    ],
    [
      'the same ranges',
      'spec: {podCIDRs: [10.0.0.0/8, "2000::/10"]}',
      'spec: {podCIDRs: [10.0.0.0/8, "2000::/10"]}',
    ],
    [
      'ranges in another order',
      'spec: {podCIDRs: [10.0.0.0/8, "2000::/10"]}',
      'spec: {podCIDRs: ["2000::/10", 10.0.0.0/8]}',
      CIDRS,
      CIDRS,
    ],
    [
      'a range that is not canonical',
      'spec: {podCIDRs: [010.0.0.0/8]}',
      'spec: {podCIDRs: [010.0.0.0/8], unschedulable: true}',
    ],
    [
      'capacity',
      'status: {capacity: {cpu: 10000, memory: 100}}',
      'status: {capacity: {cpu: 100, memory: 10000}}',
    ],
    ['it is closed', '{}', 'spec: {unschedulable: true}'],
    ['it is opened', 'spec: {unschedulable: true}', 'spec: {unschedulable: false}'],
    ['a taint', '{}', 'spec: {taints: [{key: a, effect: NoSchedule}]}'],
    [
      'an impossible taint',
      '{}',
      'spec: {taints: [{key: a}]}',
      'metadata.taints[0].effect Required',
    ],
    [
      'addresses of one kind',
      '{}',
      'status: {addresses: [{type: ExternalIP, address: 1.1.1.1}, {type: ExternalIP, address: 2.2.2.2}]}',
    ],
    [
      'one address of two kinds',
      '{}',
      'status: {addresses: [{type: ExternalIP, address: 1.1.1.1}, {type: InternalIP, address: 1.1.1.1}]}',
    ],
    [
      'one address twice',
      '{}',
      'status: {addresses: [{type: ExternalIP, address: 1.1.1.1}, {type: ExternalIP, address: 1.1.1.1}]}',
      'status.addresses[1] Duplicate',
    ],
    [
      'pods without a signature',
      '{}',
      'metadata: {annotations: {scheduler.alpha.kubernetes.io/preferAvoidPods: "{\\"preferAvoidPods\\": [{}]}"}}',
      'metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[0].PodSignature Required',
    ],
    [
      'a half of something of others',
      '{}',
      'status: {capacity: {example.com/a: 500m}}',
      'status.capacity.example.com/a Invalid',
      'status.allocatable.example.com/a Invalid',
    ],
    [
      'a half that may be used',
      '{}',
      'status: {allocatable: {example.com/a: 500m}}',
      'status.allocatable.example.com/a Invalid',
    ],
    ['whose it is', '{}', 'spec: {providerID: provider:///new}'],
    [
      'whose it is now',
      'spec: {providerID: provider:///old}',
      'spec: {providerID: provider:///new}',
      'spec.providerID Forbidden',
    ],
    ['no provider', 'spec: {providerID: provider:///old}', '{}', 'spec.providerID Forbidden'],
    ['a configuration', '{}', config(WHOLE)],
    ['a configuration of nothing', '{}', 'spec: {configSource: {}}', `${SOURCE} Invalid`],
    [
      'of no name',
      '{}',
      config('namespace: ns, kubeletConfigKey: k'),
      `${SOURCE}.configMap.name Required`,
    ],
    [
      'of no namespace',
      '{}',
      config('name: abc, kubeletConfigKey: k'),
      `${SOURCE}.configMap.namespace Required`,
    ],
    [
      'of no key',
      '{}',
      config('namespace: ns, name: abc'),
      `${SOURCE}.configMap.kubeletConfigKey Required`,
    ],
    [
      'of a known object',
      '{}',
      config(`${WHOLE}, uid: a, resourceVersion: "1"`),
      `${SOURCE}.configMap.uid Forbidden`,
      `${SOURCE}.configMap.resourceVersion Forbidden`,
    ],
    [
      'of a bad name',
      '{}',
      config('namespace: ns, name: "*", kubeletConfigKey: k'),
      `${SOURCE}.configMap.name Invalid`,
    ],
    [
      'of a bad namespace',
      '{}',
      config('namespace: "*", name: abc, kubeletConfigKey: k'),
      `${SOURCE}.configMap.namespace Invalid`,
    ],
    [
      'of a bad key',
      '{}',
      config('namespace: ns, name: abc, kubeletConfigKey: "*"'),
      `${SOURCE}.configMap.kubeletConfigKey Invalid`,
    ],
    ['a configuration that is used', '{}', status(`${WHOLE}, uid: a, resourceVersion: "1"`)],
    [
      'one of an unknown object',
      '{}',
      status(WHOLE),
      `${ASSIGNED}.configMap.uid Required`,
      `${ASSIGNED}.configMap.resourceVersion Required`,
    ],
    ['one of nothing', '{}', 'status: {config: {active: {}}}', 'status.config.active Invalid'],
  ])('%s', (_what, old, now, ...errors) => {
    expect(short(validateNodeUpdate(node(now), node(old)))).toEqual(errors);
  });
});
