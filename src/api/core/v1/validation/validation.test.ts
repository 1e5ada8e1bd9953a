// What is wrong with each manifest, in Kubernetes' words. A case is a change to a good object and the errors that it makes.

import { describe, expect, test } from 'vitest';
import { aggregateMessage, type FieldErrorList } from '../../../../machinery/field.ts';
import { validateReplicaSet, validateReplicaSetUpdate } from '../../../apps/v1/validation/index.ts';
import { decodeObject, parseYaml } from '../../../codec/index.ts';
import { messageDescriptor } from '../../../schema/compile.ts';
import { setReplicaSetDefaults } from '../../../apps/v1/defaults.ts';
import { setPodDefaults, setReplicationControllerDefaults, setServiceDefaults } from '../defaults.ts';
import * as validation from './index.ts';
import type * as core from '../types.ts';
import type { ReplicaSet } from '../../../apps/v1/types.ts';

function decode<T>(key: string, yaml: string): T {
  const { object, unknownFields } = decodeObject(messageDescriptor(key), parseYaml(yaml));
  if (unknownFields.length > 0) throw new Error(`unknown fields in the test's manifest: ${unknownFields.join(', ')}`);
  return object as T;
}

const messages = (errors: FieldErrorList): string[] => errors.map((error) => error.message);

function pod(specYaml: string): core.Pod {
  const made = decode<core.Pod>(
    'core/v1.Pod',
    `metadata: {name: p, namespace: default}\nspec:\n${specYaml.replace(/^/gm, '  ')}`,
  );
  setPodDefaults(made);
  return made;
}

const good = 'containers: [{name: c, image: busybox}]';

describe('pods', () => {
  test('a good pod has no errors', () => {
    expect(messages(validation.validatePod(pod(good)))).toEqual([]);
  });

  test.each<[what: string, spec: string, errors: string[]]>([
    ['no containers', 'containers: []', ['spec.containers: Required value']],
    [
      'a container without name and image',
      'containers: [{}]',
      ['spec.containers[0].name: Required value', 'spec.containers[0].image: Required value'],
    ],
    [
      'an upper-case name',
      'containers: [{name: C, image: x}]',
      [
        `spec.containers[0].name: Invalid value: "C": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
      ],
    ],
    [
      'one name twice',
      'containers: [{name: c, image: x}, {name: c, image: x}]',
      ['spec.containers[1].name: Duplicate value: "c"'],
    ],
    [
      'one name twice, as an init container',
      'containers: [{name: c, image: x}]\ninitContainers: [{name: c, image: x}]',
      ['spec.initContainers[0].name: Duplicate value: "c"'],
    ],
    [
      'white space around an image',
      `containers: [{name: c, image: ' x'}]`,
      ['spec.containers[0].image: Invalid value: " x": must not have leading or trailing whitespace'],
    ],
    [
      'an unknown pull policy',
      'containers: [{name: c, image: x, imagePullPolicy: Often}]',
      ['spec.containers[0].imagePullPolicy: Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"'],
    ],
    [
      'an unknown restart policy',
      `${good}\nrestartPolicy: Sometimes`,
      ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
    ],
    [
      'an unknown DNS policy',
      `${good}\ndnsPolicy: Mine`,
      [
        'spec.dnsPolicy: Unsupported value: "Mine": supported values: "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"',
      ],
    ],
    [
      'a port out of range',
      'containers: [{name: c, image: x, ports: [{containerPort: 70000}]}]',
      ['spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive'],
    ],
    [
      'no port',
      'containers: [{name: c, image: x, ports: [{name: a}]}]',
      ['spec.containers[0].ports[0].containerPort: Required value'],
    ],
    [
      'one host port twice',
      'containers: [{name: c, image: x, ports: [{containerPort: 1, hostPort: 80}, {containerPort: 2, hostPort: 80}]}]',
      ['spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//80"'],
    ],
    [
      'a mount of no volume',
      'containers: [{name: c, image: x, volumeMounts: [{name: v, mountPath: /v}]}]',
      ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
    ],
    [
      'two mounts at one path',
      'containers: [{name: c, image: x, volumeMounts: [{name: v, mountPath: /v}, {name: v, mountPath: /v}]}]\nvolumes: [{name: v, emptyDir: {}}]',
      ['spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/v": must be unique'],
    ],
    [
      'a subPath that leads out',
      'containers: [{name: c, image: x, volumeMounts: [{name: v, mountPath: /v, subPath: a/../../b}]}]\nvolumes: [{name: v, emptyDir: {}}]',
      [`spec.containers[0].volumeMounts[0].subPath: Invalid value: "a/../../b": must not contain '..'`],
    ],
    [
      'two sources of one volume',
      `${good}\nvolumes: [{name: v, emptyDir: {}, hostPath: {path: /}}]`,
      ['spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type'],
    ],
    [
      'an unknown type of host path',
      `${good}\nvolumes: [{name: v, hostPath: {path: /x, type: Folder}}]`,
      [
        'spec.volumes[0].hostPath.type: Unsupported value: "Folder": supported values: "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
      ],
    ],
    [
      'a host path that goes up',
      `${good}\nvolumes: [{name: v, hostPath: {path: /a/../b}}]`,
      [`spec.volumes[0].hostPath.path: Invalid value: "/a/../b": must not contain '..'`],
    ],
    [
      'a key that leads out of its volume',
      `${good}\nvolumes: [{name: v, configMap: {name: m, items: [{key: k, path: ../x}]}}]`,
      [`spec.volumes[0].configMap.items[0].path: Invalid value: "../x": must not contain '..'`],
    ],
    [
      'a mode beyond 0777',
      `${good}\nvolumes: [{name: v, secret: {secretName: s, defaultMode: 512}}]`,
      ['spec.volumes[0].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive'],
    ],
    [
      'an environment variable without a name',
      'containers: [{name: c, image: x, env: [{value: a}]}]',
      ['spec.containers[0].env[0].name: Required value'],
    ],
    [
      'a value and a source at once',
      'containers: [{name: c, image: x, env: [{name: A, value: a, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]',
      ['spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
    ],
    [
      'a field that a variable cannot have',
      'containers: [{name: c, image: x, env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.phase}}}]}]',
      [
        'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"',
      ],
    ],
    [
      'more requested than allowed',
      'containers: [{name: c, image: x, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]',
      ['spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
    ],
    [
      'a negative request',
      'containers: [{name: c, image: x, resources: {requests: {memory: -1Gi}}}]',
      ['spec.containers[0].resources.requests[memory]: Invalid value: "-1Gi": must be greater than or equal to 0'],
    ],
    [
      'a resource that is none',
      'containers: [{name: c, image: x, resources: {limits: {disk: 1}}}]',
      [
        'spec.containers[0].resources.limits: Invalid value: "disk": must be a standard resource type or fully qualified',
        'spec.containers[0].resources.limits: Invalid value: "disk": must be a standard resource for containers',
        'spec.containers[0].resources.requests: Invalid value: "disk": must be a standard resource type or fully qualified',
        'spec.containers[0].resources.requests: Invalid value: "disk": must be a standard resource for containers',
      ],
    ],
    [
      'half a device',
      'containers: [{name: c, image: x, resources: {limits: {example.com/gpu: 500m}}}]',
      [
        'spec.containers[0].resources.limits[example.com/gpu]: Invalid value: "500m": must be an integer',
        'spec.containers[0].resources.requests[example.com/gpu]: Invalid value: "500m": must be an integer',
      ],
    ],
    [
      'a probe without a handler',
      'containers: [{name: c, image: x, livenessProbe: {periodSeconds: 1}}]',
      ['spec.containers[0].livenessProbe: Required value: must specify a handler type'],
    ],
    [
      'a liveness probe that must succeed twice',
      'containers: [{name: c, image: x, livenessProbe: {successThreshold: 2, tcpSocket: {port: 80}}}]',
      ['spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1'],
    ],
    [
      'a probe of an init container',
      'containers: [{name: c, image: x}]\ninitContainers: [{name: i, image: x, readinessProbe: {tcpSocket: {port: 80}}}]',
      ['spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always'],
    ],
    [
      'a toleration of everything that names no operator',
      `${good}\ntolerations: [{}]`,
      [
        'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ],
    ],
    [
      'seconds on a toleration that evicts nothing',
      `${good}\ntolerations: [{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: 1}]`,
      [`spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be 'NoExecute' when \`tolerationSeconds\` is set`],
    ],
    [
      'no term in a node selector',
      `${good}\naffinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}`,
      [
        'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term',
      ],
    ],
    [
      'values for Exists',
      `${good}\naffinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists, values: [b]}]}]}}}`,
      [
        `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
      ],
    ],
    [
      'a deadline of zero',
      `${good}\nactiveDeadlineSeconds: 0`,
      ['spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive'],
    ],
    [
      'a DNS policy of None without servers',
      `${good}\ndnsPolicy: None`,
      ['spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None'],
    ],
    [
      'a privileged container that may not gain privileges',
      'containers: [{name: c, image: x, securityContext: {privileged: true, allowPrivilegeEscalation: false}}]',
      [
        'spec.containers[0].securityContext: Invalid value: {"privileged":true,"allowPrivilegeEscalation":false}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
      ],
    ],
    [
      'ephemeral containers from the start',
      `${good}\nephemeralContainers: [{name: e, image: x}]`,
      ['spec.ephemeralContainers: Forbidden: cannot be set on create'],
    ],
  ])('%s', (_, spec, errors) => {
    expect(messages(validation.validatePod(pod(spec)))).toEqual(errors);
  });
});

describe('changes of pods', () => {
  const old = pod(good);
  test.each<[what: string, change: (spec: core.PodSpec) => void, errors: string[] | RegExp]>([
    ['the image may change', (spec) => ((spec.containers[0] as core.Container).image = 'other'), []],
    ['tolerations may be added', (spec) => (spec.tolerations = [{ key: 'a', operator: 'Exists' }]), []],
    ['a deadline may be set', (spec) => (spec.activeDeadlineSeconds = 5), []],
    [
      'the node may not change',
      (spec) => (spec.nodeName = 'n'),
      /^spec: Forbidden: pod updates may not change fields other than `spec.containers\[\*\].image`/,
    ],
    [
      'the command may not change',
      (spec) => ((spec.containers[0] as core.Container).command = ['x']),
      /^spec: Forbidden: pod updates may not change/,
    ],
    [
      'containers may not be added',
      (spec) => spec.containers.push(structuredClone(spec.containers[0] as core.Container)),
      ['spec.containers: Forbidden: pod updates may not add or remove containers'],
    ],
  ])('%s', (_, change, errors) => {
    const changed = structuredClone(old);
    change(changed.spec);
    const found = messages(validation.validatePodUpdate(changed, old));
    if (errors instanceof RegExp) {
      expect(found).toHaveLength(1);
      expect(found[0]).toMatch(errors);
    } else expect(found).toEqual(errors);
  });

  test('a container that has ended for good does not run again', () => {
    const ended = pod(`${good}\nrestartPolicy: Never`);
    ended.status.containerStatuses = [{ name: 'c', state: { terminated: { exitCode: 0 } } } as core.ContainerStatus];
    const running = structuredClone(ended);
    running.status.containerStatuses = [{ name: 'c', state: { running: {} } } as core.ContainerStatus];
    expect(messages(validation.validatePodStatusUpdate(running, ended))).toEqual([
      'status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state',
    ]);
    expect(messages(validation.validatePodStatusUpdate(ended, running))).toEqual([]);
  });
});

describe('replica sets', () => {
  const replicaSet = (yaml: string): ReplicaSet => {
    const made = decode<ReplicaSet>('apps/v1.ReplicaSet', `metadata: {name: r}\nspec:\n${yaml.replace(/^/gm, '  ')}`);
    setReplicaSetDefaults(made);
    return made;
  };
  const template = 'template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}';

  test.each<[what: string, spec: string, errors: string[]]>([
    ['a good one', `selector: {matchLabels: {a: b}}\n${template}`, []],
    [
      'a selector that does not match the template',
      `selector: {matchLabels: {a: c}}\n${template}`,
      ['spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`'],
    ],
    [
      'an empty selector',
      `selector: {}\n${template}`,
      ['spec.selector: Invalid value: {}: empty selector is invalid for deployment'],
    ],
    [
      'negative replicas',
      `replicas: -1\nselector: {matchLabels: {a: b}}\n${template}`,
      ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'pods that end',
      'selector: {matchLabels: {a: b}}\ntemplate: {metadata: {labels: {a: b}}, spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}',
      ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
    ],
  ])('%s', (_, spec, errors) => {
    expect(messages(validateReplicaSet(replicaSet(spec)))).toEqual(errors);
  });

  test('the selector is for ever', () => {
    const old = replicaSet(`selector: {matchLabels: {a: b}}\n${template}`);
    const changed = replicaSet(
      'selector: {matchLabels: {a: c}}\ntemplate: {metadata: {labels: {a: c}}, spec: {containers: [{name: c, image: x}]}}',
    );
    expect(messages(validateReplicaSetUpdate(changed, old))).toEqual([
      'spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable',
    ]);
  });
});

test('a replication controller takes its selector from its template', () => {
  const controller = decode<core.ReplicationController>(
    'core/v1.ReplicationController',
    'metadata: {name: r}\nspec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}}',
  );
  setReplicationControllerDefaults(controller);
  expect(controller.spec.selector).toEqual({ a: 'b' });
  expect(controller.metadata.labels).toEqual({ a: 'b' });
  expect(controller.spec.replicas).toBe(1);
  expect(messages(validation.validateReplicationController(controller))).toEqual([]);
});

describe('services', () => {
  const service = (yaml: string): core.Service => {
    const made = decode<core.Service>('core/v1.Service', `metadata: {name: s}\nspec:\n${yaml.replace(/^/gm, '  ')}`);
    setServiceDefaults(made);
    return made;
  };
  test.each<[what: string, spec: string, errors: string[]]>([
    ['a good one', 'ports: [{port: 80}]', []],
    ['no ports', 'selector: {a: b}', ['spec.ports: Required value']],
    ['headless, no ports', 'clusterIP: None', []],
    ['two ports, one name', 'ports: [{port: 80}, {port: 81, name: a}]', ['spec.ports[0].name: Required value']],
    [
      'an unknown type',
      'type: Mine\nports: [{port: 80}]',
      ['spec.type: Unsupported value: "Mine": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'],
    ],
    [
      'a node port on a cluster IP',
      'ports: [{port: 80, nodePort: 30000}]',
      ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ],
    [
      'an address that is none',
      'clusterIP: 1.2.3\nports: [{port: 80}]',
      ['spec.clusterIPs[0]: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ],
    [
      'an external name that is none',
      'type: ExternalName\nexternalName: -x',
      [
        `spec.externalName: Invalid value: "-x": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
      ],
    ],
  ])('%s', (_, spec, errors) => {
    expect(messages(validation.validateService(service(spec)))).toEqual(errors);
  });

  test('defaults: target port, traffic policies', () => {
    expect(service('ports: [{port: 80}]').spec).toMatchObject({
      type: 'ClusterIP',
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ports: [{ port: 80, targetPort: 80, protocol: 'TCP' }],
    });
  });
});

describe('config maps and secrets', () => {
  test.each<[what: string, errors: FieldErrorList, message: string]>([
    [
      'a key with a slash',
      validation.validateConfigMap(decode('core/v1.ConfigMap', 'data: {a/b: x}')),
      "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    ],
    [
      'a key in both maps',
      validation.validateConfigMap(decode('core/v1.ConfigMap', 'data: {a: x}\nbinaryData: {a: eA==}')),
      'data[a]: Invalid value: "a": duplicate of key present in binaryData',
    ],
    [
      'too much',
      validation.validateConfigMap(decode('core/v1.ConfigMap', `data: {a: ${'x'.repeat(1024 * 1024 + 1)}}`)),
      ': Too long: may not be more than 1048576 bytes',
    ],
    [
      'a TLS secret without its key',
      validation.validateSecret(decode('core/v1.Secret', 'type: kubernetes.io/tls\ndata: {tls.crt: eA==}')),
      'data[tls.key]: Required value',
    ],
  ])('%s', (_, errors, message) => {
    expect(aggregateMessage(errors)).toBe(message);
  });

  test('what is immutable stays', () => {
    const old = decode<core.ConfigMap>('core/v1.ConfigMap', 'immutable: true\ndata: {a: x}');
    const changed = decode<core.ConfigMap>('core/v1.ConfigMap', 'immutable: true\ndata: {a: z}');
    expect(messages(validation.validateConfigMapUpdate(changed, old))).toEqual([
      'data: Forbidden: field is immutable when `immutable` is set',
    ]);
  });
});
