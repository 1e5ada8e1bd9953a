// Errors of the smaller kinds and of their updates, with upstream's messages.

import { describe, expect, test } from 'vitest';

import { aggregateMessage } from '#machinery/validation/field.ts';
import { decodeManifest, manifest, messages } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import * as validation from './index.ts';

const KEY =
  "a valid config key must consist of alphanumeric characters, '-', " +
  "'_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', " +
  "regex used for validation is '[-._a-zA-Z0-9]+')";
const NAME_PART =
  "name part must consist of alphanumeric characters, '-', '_' or '.', " +
  "and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name', " +
  " or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

describe('config maps', () => {
  const configMap = (yaml: string): core.ConfigMap => manifest('core/v1.ConfigMap', yaml);
  test.each<[what: string, yaml: string, message: string]>([
    ['a good one', 'data: {a.b_c-d: x}', ''],
    ['a key with a slash', 'data: {a/b: x}', `data[a/b]: Invalid value: "a/b": ${KEY}`],
    [
      'keys that lead out',
      'data: {"..": x, "..a": x}',
      `[data[..]: Invalid value: "..": must not be '..', data[..a]: Invalid value: "..a": must not start with '..']`,
    ],
    [
      'a key in both maps',
      'data: {a: x}\nbinaryData: {a: eA==}',
      'data[a]: Invalid value: "a": duplicate of key present in binaryData',
    ],
    ['as much as can be', `data: {a: ${'x'.repeat(1024 * 1024)}}`, ''],
    [
      'too much',
      `data: {a: ${'x'.repeat(1024 * 1024)}}\nbinaryData: {b: eA==}`,
      '[]: Too long: may not be more than 1048576 bytes',
    ],
  ])('%s', (_, yaml, message) => {
    expect(aggregateMessage(validation.validateConfigMap(configMap(yaml)))).toBe(message);
  });

  const FOR_EVER = 'Forbidden: field is immutable when `immutable` is set';
  test.each<[what: string, old: string, now: string, errors: string[]]>([
    ['may change', 'data: {a: x}', 'data: {a: z}', []],
    ['may become immutable', 'data: {a: x}', 'data: {a: x}\nimmutable: true', []],
    [
      'then the data stays',
      'data: {a: x}\nimmutable: true',
      'data: {a: z}\nbinaryData: {b: eA==}\nimmutable: true',
      [`data: ${FOR_EVER}`, `binaryData: ${FOR_EVER}`],
    ],
    ['and so does that', 'immutable: true', 'immutable: false', [`immutable: ${FOR_EVER}`]],
    ['but not labels', 'immutable: true', 'metadata: {labels: {a: b}}\nimmutable: true', []],
  ])('%s', (_, old, now, errors) => {
    expect(messages(validation.validateConfigMapUpdate(configMap(now), configMap(old)))).toEqual(
      errors,
    );
  });
});

describe('secrets', () => {
  const secret = (yaml: string): core.Secret => manifest('core/v1.Secret', yaml);
  test.each<[what: string, yaml: string, errors: string[]]>([
    ['of no type', 'stringData: {a: b}', []],
    ['of a type of its own', 'type: mine', []],
    ['a key with a slash', 'data: {a/b: eA==}', [`data[a/b]: Invalid value: "a/b": ${KEY}`]],
    [
      'for TLS, without the key',
      'type: kubernetes.io/tls\ndata: {tls.crt: eA==}',
      ['data[tls.key]: Required value'],
    ],
    ['for TLS, empty', 'type: kubernetes.io/tls\ndata: {tls.crt: "", tls.key: ""}', []],
    [
      'for SSH, empty',
      'type: kubernetes.io/ssh-auth\ndata: {ssh-privatekey: ""}',
      ['data[ssh-privatekey]: Required value'],
    ],
    [
      'for basic authentication, empty',
      'type: kubernetes.io/basic-auth',
      ['data[username]: Required value', 'data[password]: Required value'],
    ],
    [
      'for basic authentication, with one of two',
      'type: kubernetes.io/basic-auth\ndata: {password: ""}',
      [],
    ],
    [
      'for images',
      'type: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: "{}"}',
      [],
    ],
    [
      'for images, without',
      'type: kubernetes.io/dockerconfigjson',
      ['data[.dockerconfigjson]: Required value'],
    ],
    [
      'for images, empty',
      'type: kubernetes.io/dockercfg\nstringData: {.dockercfg: ""}',
      [
        'data[.dockercfg]: Invalid value: "<secret contents redacted>": unexpected end of JSON input',
      ],
    ],
    [
      'for images, a list',
      'type: kubernetes.io/dockercfg\nstringData: {.dockercfg: "[]"}',
      [
        'data[.dockercfg]: Invalid value: "<secret contents redacted>": json: cannot ' +
          'unmarshal array into Go value of type map[string]interface {}',
      ],
    ],
    [
      'for images, no JSON',
      'type: kubernetes.io/dockercfg\nstringData: {.dockercfg: "hush"}',
      [
        'data[.dockercfg]: Invalid value: "<secret contents redacted>": invalid character ' +
          "'h' looking for beginning of value",
      ],
    ],
    [
      'a token without an account',
      'type: kubernetes.io/service-account-token',
      ['metadata.annotations[kubernetes.io/service-account.name]: Required value'],
    ],
    [
      'a token',
      'metadata: {annotations: {kubernetes.io/service-account.name: a}}\ntype: kubernetes.io/service-account-token',
      [],
    ],
    [
      'too much',
      `stringData: {a: ${'x'.repeat(1024 * 1024 + 1)}}`,
      ['data: Too long: may not be more than 1048576 bytes'],
    ],
  ])('%s', (_, yaml, errors) => {
    expect(messages(validation.validateSecret(secret(yaml)))).toEqual(errors);
  });

  test('the type and immutable data cannot change', () => {
    const old = secret('type: a\nimmutable: true\nstringData: {a: x}');
    expect(
      messages(validation.validateSecretUpdate(secret('type: b\nstringData: {a: z}'), old)),
    ).toEqual([
      'type: Invalid value: "b": field is immutable',
      'immutable: Forbidden: field is immutable when `immutable` is set',
      'data: Forbidden: field is immutable when `immutable` is set',
    ]);
  });
});

describe('namespaces', () => {
  const namespace = (yaml: string): core.Namespace => manifest('core/v1.Namespace', yaml);
  const NEITHER = 'name is neither a standard finalizer name nor is it fully qualified';
  test('finalizers', () => {
    const given = namespace('spec: {finalizers: [kubernetes, example.com/a, mine, "a b"]}');
    expect(messages(validation.validateNamespace(given))).toEqual([
      `spec.finalizers: Invalid value: "mine": ${NEITHER}`,
      `spec.finalizers: Invalid value: "a b": ${NAME_PART}`,
      `spec.finalizers: Invalid value: "a b": ${NEITHER}`,
    ]);
    expect(messages(validation.validateNamespaceFinalizeUpdate(given))[0]).toBe(
      `spec.finalizers[2]: Invalid value: "mine": ${NEITHER}`,
    );
  });

  test.each<[deleted: boolean, phase: string, errors: string[]]>([
    [false, 'Active', []],
    [true, 'Terminating', []],
    [
      false,
      'Terminating',
      [
        'status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty',
      ],
    ],
    [
      true,
      'Active',
      [
        'status.Phase: Invalid value: "Active": may only be \'Terminating\' if `deletionTimestamp` is not empty',
      ],
    ],
  ])('deleted: %s, phase: %s', (deleted, phase, errors) => {
    const metadata = deleted ? 'metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}' : '';
    expect(
      messages(
        validation.validateNamespaceStatusUpdate(
          namespace(`${metadata}\nstatus: {phase: ${phase}}`),
        ),
      ),
    ).toEqual(errors);
  });
});

describe('nodes', () => {
  const node = (yaml: string): core.Node => manifest('core/v1.Node', yaml);
  test.each<[what: string, yaml: string, errors: string[]]>([
    [
      'a good one',
      'spec: {podCIDR: 10.0.0.0/24, podCIDRs: [10.0.0.0/24, "fd00::/64"], ' +
        'taints: [{key: a, effect: NoSchedule}]}\nstatus: {capacity: {cpu: 2, ' +
        'example.com/gpu: 1}}',
      [],
    ],
    [
      'taints',
      'spec: {taints: [{key: a, effect: NoSchedule}, {key: a, value: b, ' +
        'effect: NoSchedule}, {key: "", value: "-", effect: Never}]}',
      [
        'metadata.taints[1]: Duplicate value: ' +
          '{"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}: taints must be ' +
          'unique by key and effect pair',
        'metadata.taints[2].key: Invalid value: "": name part must be non-empty',
        `metadata.taints[2].key: Invalid value: "": ${NAME_PART}`,
        expect.stringMatching(/^metadata\.taints\[2\]\.value: Invalid value: "-": a valid label/),
        'metadata.taints[2].effect: Unsupported value: "Never": supported values: ' +
          '"NoSchedule", "PreferNoSchedule", "NoExecute"',
      ],
    ],
    [
      'ranges',
      'spec: {podCIDRs: [10.0.0.0/24, 10.0.0.0/24, x]}',
      [
        'spec.podCIDRs[2]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        'spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with ' +
          'error:invalid CIDR[2]: <nil> (invalid CIDR address: x)',
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.0.0/24","x"]: may specify no ' +
          'more than one CIDR for each IP family',
      ],
    ],
    [
      'resources',
      'status: {capacity: {cpu: -1, pods: 1500m}, allocatable: {example.com/gpu: 500m}}',
      [
        'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
        'status.capacity.pods: Invalid value: "1500m": must be an integer',
        'status.allocatable.example.com/gpu: Invalid value: "500m": must be an integer',
      ],
    ],
  ])('%s', (_, yaml, errors) => {
    expect(messages(validation.validateNode(node(yaml)))).toEqual(errors);
  });

  const CIDR =
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid';
  test.each<[what: string, old: string, now: string, errors: string[]]>([
    ['a range may be set', '{}', 'spec: {podCIDR: 10.0.0.0/24}', []],
    [
      'a range may not change',
      'spec: {podCIDR: 10.0.0.0/24}',
      'spec: {podCIDR: 10.0.1.0/24}',
      [CIDR],
    ],
    ['a range may not go', 'spec: {podCIDR: 10.0.0.0/24}', '{}', [CIDR]],
    ['a provider may be set', '{}', 'spec: {providerID: a}', []],
    [
      'a provider may not change',
      'spec: {providerID: a}',
      'spec: {providerID: b}',
      [
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
      ],
    ],
    [
      'an old name may not change',
      'spec: {externalID: a}',
      'spec: {externalID: b}',
      ['spec.externalID: Forbidden: may not be updated'],
    ],
    [
      'it may be closed',
      '{}',
      'spec: {unschedulable: true, taints: [{key: a, effect: NoExecute}]}',
      [],
    ],
    [
      'one address twice',
      '{}',
      'status: {addresses: [{type: InternalIP, address: 1.2.3.4}, {type: ExternalIP, ' +
        'address: 1.2.3.4}, {type: InternalIP, address: 1.2.3.4}]}',
      ['status.addresses[2]: Duplicate value: {"Type":"InternalIP","Address":"1.2.3.4"}'],
    ],
    [
      'an obsolete configuration',
      '{}',
      'spec: {configSource: {configMap: {namespace: a, name: b, uid: c, kubeletConfigKey: ""}}}',
      [
        'spec.configSource.configMap.uid: Forbidden: uid must not be set in spec',
        'spec.configSource.configMap.kubeletConfigKey: Required value',
      ],
    ],
  ])('%s', (_, old, now, errors) => {
    expect(messages(validation.validateNodeUpdate(node(now), node(old)))).toEqual(errors);
  });
});

describe('replication controllers', () => {
  const template =
    'template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}';
  test.each<[what: string, spec: string, errors: string[]]>([
    ['a good one', `selector: {a: b}\n  ${template}`, []],
    ['whose selector comes from its template', template, []],
    [
      'of other pods',
      `selector: {a: c}\n  ${template}`,
      [
        'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
      ],
    ],
    [
      'without a selector',
      'template: {spec: {containers: [{name: c, image: x}]}}',
      ['spec.selector: Required value'],
    ],
    ['without a template', 'selector: {a: b}', ['spec.template: Required value']],
    [
      'less than nothing',
      `replicas: -1\n  minReadySeconds: -1\n  ${template}`,
      [
        'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0',
        'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
      ],
    ],
    [
      'of pods that end',
      'template: {metadata: {labels: {a: b}}, spec: {restartPolicy: Never, ' +
        'activeDeadlineSeconds: 1, containers: [{name: c, image: x}]}}',
      [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ' +
          'ReplicationController is not Supported',
      ],
    ],
  ])('%s', (_, spec, errors) => {
    const given = manifest<core.ReplicationController>(
      'core/v1.ReplicationController',
      `metadata: {name: r}\nspec:\n  ${spec}`,
    );
    expect(messages(validation.validateReplicationController(given))).toEqual(errors);
  });

  test.each<[status: object, errors: string[]]>([
    [{ replicas: 2, readyReplicas: 2, availableReplicas: 1 }, []],
    [
      { replicas: -1, terminatingReplicas: -1 },
      [
        'status.replicas: Invalid value: -1: must be greater than or equal to 0',
        'status.terminatingReplicas: Invalid value: -1: must be greater than or equal to 0',
        'status.fullyLabeledReplicas: Invalid value: 0: cannot be greater than status.replicas',
        'status.readyReplicas: Invalid value: 0: cannot be greater than status.replicas',
        'status.availableReplicas: Invalid value: 0: cannot be greater than status.replicas',
      ],
    ],
    [
      { replicas: 1, fullyLabeledReplicas: 2, readyReplicas: 1, availableReplicas: 2 },
      [
        'status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas',
        'status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas',
        'status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas',
      ],
    ],
  ])('counts %j', (status, errors) => {
    expect(messages(validation.validateReplicaCounts(status))).toEqual(errors);
  });
});

describe('events', () => {
  const event = (namespace: string, yaml: string): core.Event =>
    decodeManifest('core/v1.Event', `metadata: {name: e, namespace: ${namespace}}\n${yaml}`);
  const ELSEWHERE = 'does not match event.namespace';
  const full =
    'eventTime: "2026-01-01T00:00:00.000000Z"\nreportingComponent: a/b\nreportingInstance: i\naction: a\nreason: r';
  test.each<[what: string, namespace: string, yaml: string, errors: string[]]>([
    ['where it belongs', 'x', 'involvedObject: {namespace: x}', []],
    [
      'elsewhere',
      'x',
      'involvedObject: {namespace: z}',
      [`involvedObject.namespace: Invalid value: "z": ${ELSEWHERE}`],
    ],
    ['about the cluster', 'default', 'involvedObject: {kind: Node}', []],
    [
      'about the cluster, elsewhere',
      'kube-system',
      'involvedObject: {kind: Node}',
      [`involvedObject.namespace: Invalid value: "": ${ELSEWHERE}`],
    ],
    ['of the newer form', 'x', `${full}\ninvolvedObject: {namespace: x}`, []],
    ['of the newer form, about the cluster', 'kube-system', full, []],
    [
      'of the newer form, elsewhere',
      'x',
      full,
      [`involvedObject.namespace: Invalid value: "": ${ELSEWHERE}`],
    ],
    [
      'of the newer form, empty',
      'default',
      'eventTime: "2026-01-01T00:00:00.000000Z"',
      [
        'reportingController: Required value',
        'reportingController: Invalid value: "": name part must be non-empty',
        `reportingController: Invalid value: "": ${NAME_PART}`,
        'reportingInstance: Required value',
        'action: Required value',
        'reason: Required value',
      ],
    ],
    [
      'of the newer form, too long',
      'default',
      `${full.replace('action: a', `action: ${'a'.repeat(129)}`)}\nmessage: ${'m'.repeat(1025)}`,
      [
        'action: Invalid value: "": can have at most 128 characters',
        'message: Invalid value: "": can have at most 1024 characters',
      ],
    ],
    [
      'of the older form, too long for the newer',
      'default',
      `reason: ${'a'.repeat(129)}\nmessage: ${'m'.repeat(1025)}`,
      [],
    ],
  ])('%s', (_, namespace, yaml, errors) => {
    expect(
      messages(validation.validateEvent(event(namespace, yaml), 'reportingController')),
    ).toEqual(errors);
  });
});

test.each<[target: string, errors: string[]]>([
  ['{kind: Node, name: a}', []],
  ['{name: a}', []],
  [
    '{kind: Pod}',
    [
      'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
      'target.name: Required value',
    ],
  ],
])('binding to %s', (target, errors) => {
  const binding = manifest<core.Binding>(
    'core/v1.Binding',
    `metadata: {name: p}\ntarget: ${target}`,
  );
  expect(messages(validation.validateBinding(binding))).toEqual(errors);
});
