// Errors of pods, with upstream's messages. Each case is a change to a valid pod, and the resulting
// errors.

import { describe, expect, test } from 'vitest';

import { indent, manifest, messages } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { validatePod, validatePodTemplate } from './index.ts';
import { path } from '#machinery/validation/field.ts';

function pod(spec: string, metadata = ''): core.Pod {
  return manifest(
    'core/v1.Pod',
    `metadata: {name: p, namespace: default${metadata}}\nspec:\n${indent(spec)}`,
  );
}

const good = 'containers: [{name: c, image: busybox}]';
const container = (fields: string): string => `containers: [{name: c, image: x, ${fields}}]`;
const volume = (source: string): string => `${good}\nvolumes: [{name: v, ${source}}]`;
const mount = (fields: string): string =>
  `${container(`volumeMounts: [{name: v, mountPath: /v, ${fields}}]`)}\nvolumes: [{name: v, emptyDir: {}}]`;

const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
  "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', " +
  "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN =
  'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ' +
  "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', " +
  'regex used for validation is ' +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', " +
  "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue', " +
  " or 'my_value',  or '12345', regex used for validation is " +
  "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const NAME_PART =
  "name part must consist of alphanumeric characters, '-', '_' or '.', " +
  "and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name', " +
  " or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

type Case = [what: string, spec: string, errors: string[]];

function table(cases: readonly Case[]): void {
  test.each(cases)('%s', (_, spec, errors) => {
    expect(messages(validatePod(pod(spec)))).toEqual(errors);
  });
}

describe('containers', () => {
  table([
    ['a good one', good, []],
    ['none', 'containers: []', ['spec.containers: Required value']],
    [
      'without name and image',
      'containers: [{}]',
      ['spec.containers[0].name: Required value', 'spec.containers[0].image: Required value'],
    ],
    [
      'an upper-case name',
      'containers: [{name: C, image: x}]',
      [`spec.containers[0].name: Invalid value: "C": ${LABEL}`],
    ],
    [
      'one name twice',
      'containers: [{name: c, image: x}, {name: c, image: x}]',
      ['spec.containers[1].name: Duplicate value: "c"'],
    ],
    [
      'one name twice, as an init container',
      `${good}\ninitContainers: [{name: c, image: x}]`,
      ['spec.initContainers[0].name: Duplicate value: "c"'],
    ],
    [
      'white space around an image',
      `containers: [{name: c, image: ' x'}]`,
      [
        'spec.containers[0].image: Invalid value: " x": must not have leading or trailing whitespace',
      ],
    ],
    [
      'an unknown pull policy',
      container('imagePullPolicy: Often'),
      [
        'spec.containers[0].imagePullPolicy: Unsupported value: "Often": supported values: ' +
          '"Always", "IfNotPresent", "Never"',
      ],
    ],
    [
      'an unknown policy for last words',
      container('terminationMessagePolicy: Shout'),
      [
        'spec.containers[0].terminationMessagePolicy: Unsupported value: "Shout": ' +
          'supported values: "File", "FallbackToLogsOnError"',
      ],
    ],
    [
      'a policy of its own',
      container(
        'restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]',
      ),
      [],
    ],
    [
      'an unknown policy of its own',
      container('restartPolicy: Sometimes'),
      [
        'spec.containers[0].restartPolicy: Unsupported value: "Sometimes": supported ' +
          'values: "Always", "Never", "OnFailure"',
      ],
    ],
    [
      'rules without a policy, and without sense',
      container(
        'restartPolicyRules: [{action: Stop}, {action: Restart, exitCodes: {operator: Not}}]',
      ),
      [
        'spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used',
        'spec.containers[0].restartPolicyRules[0].action: Unsupported value: "Stop": ' +
          'supported values: "Restart", "RestartAllContainers"',
        'spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified',
        'spec.containers[0].restartPolicyRules[1].exitCodes.operator: Unsupported value: ' +
          '"Not": supported values: "In", "NotIn"',
      ],
    ],
    [
      'how it can be resized',
      container(
        'resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}, ' +
          '{resourceName: cpu, restartPolicy: Perhaps}, {resourceName: disk, restartPolicy: RestartContainer}]',
      ) + '\nrestartPolicy: Never',
      [
        'spec.containers[0].resizePolicy[1]: Duplicate value: "cpu"',
        'spec.containers[0].resizePolicy: Unsupported value: "Perhaps": supported values: ' +
          '"NotRequired", "RestartContainer"',
        `spec.containers[0].resizePolicy: Invalid value: "Perhaps": must be 'NotRequired' ` +
          "when pod `restartPolicy` is 'Never'",
        'spec.containers[0].resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"',
        'spec.containers[0].resizePolicy: Invalid value: "RestartContainer": must be ' +
          "'NotRequired' when pod `restartPolicy` is 'Never'",
      ],
    ],
    [
      'init containers that are no sidecars',
      `${good}\ninitContainers: [{name: i, image: i, restartPolicyRules: [{action: Stop}], ` +
        'resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]}]',
      [
        'spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used',
        'spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: ' +
          `"RestartContainer": must not be set to 'RestartContainer' for non-sidecar ` +
          'initContainers',
      ],
    ],
    [
      'ephemeral ones from the start',
      `${good}\nephemeralContainers: [{name: e, image: x}]`,
      ['spec.ephemeralContainers: Forbidden: cannot be set on create'],
    ],
    [
      'ephemeral ones with what only others may have',
      `${good}\nvolumes: [{name: v, emptyDir: {}}]\nephemeralContainers: [{name: c, ` +
        'image: x, targetContainerName: t, ports: [{containerPort: 1}], ' +
        'resources: {limits: {cpu: 1}}, livenessProbe: {tcpSocket: {port: 1}}, ' +
        'volumeMounts: [{name: v, mountPath: /v, subPath: s}]}]',
      [
        'spec.ephemeralContainers[0].name: Duplicate value: "c"',
        'spec.ephemeralContainers[0].targetContainerName: Not found: "t"',
        'spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container',
        'spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container',
        'spec.ephemeralContainers[0].livenessProbe: Forbidden: cannot be set for an Ephemeral Container',
        'spec.ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: cannot be set for an Ephemeral Container',
        'spec.ephemeralContainers: Forbidden: cannot be set on create',
      ],
    ],
  ]);
});

describe('init containers', () => {
  const init = (fields: string): string =>
    `${good}\ninitContainers: [{name: i, image: x, ${fields}}]`;
  table([
    [
      'a sidecar with a probe and a hook',
      init(
        'restartPolicy: Always, readinessProbe: {tcpSocket: {port: 80}}, lifecycle: {preStop: {exec: {command: [x]}}}',
      ),
      [],
    ],
    [
      'a probe of one that ends',
      init('readinessProbe: {tcpSocket: {port: 80}}'),
      [
        'spec.initContainers[0].readinessProbe: Forbidden: may not be set for init ' +
          'containers without restartPolicy=Always',
      ],
    ],
    [
      'every probe and hook of one that ends',
      init(
        'livenessProbe: {tcpSocket: {port: 80}}, startupProbe: {tcpSocket: {port: 80}}, lifecycle: {}',
      ),
      [
        'spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always',
        'spec.initContainers[0].livenessProbe: Forbidden: may not be set for init ' +
          'containers without restartPolicy=Always',
        'spec.initContainers[0].startupProbe: Forbidden: may not be set for init ' +
          'containers without restartPolicy=Always',
      ],
    ],
    [
      'one after the other they may have one port',
      `${good}\ninitContainers: [{name: i, image: x, ports: [{containerPort: 1, ` +
        'hostPort: 80}]}, {name: j, image: x, ports: [{containerPort: 1, hostPort: 80}]}]',
      [],
    ],
  ]);
});

describe('ports', () => {
  table([
    [
      'out of range',
      container('ports: [{containerPort: 70000, hostPort: -1}]'),
      [
        'spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
        'spec.containers[0].ports[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive',
      ],
    ],
    [
      'none',
      container('ports: [{name: a}]'),
      ['spec.containers[0].ports[0].containerPort: Required value'],
    ],
    [
      'names',
      container(
        'ports: [{name: web, containerPort: 1}, {name: web, containerPort: 2}, ' +
          '{name: much-too-long-name, containerPort: 3}, {name: "1", containerPort: 4}, ' +
          '{name: a--b-, containerPort: 5}]',
      ),
      [
        'spec.containers[0].ports[1].name: Duplicate value: "web"',
        'spec.containers[0].ports[2].name: Invalid value: "much-too-long-name": must be no more than 15 characters',
        'spec.containers[0].ports[3].name: Invalid value: "1": must contain at least one letter (a-z)',
        'spec.containers[0].ports[4].name: Invalid value: "a--b-": must not contain consecutive hyphens',
        'spec.containers[0].ports[4].name: Invalid value: "a--b-": must not begin or end with a hyphen',
      ],
    ],
    [
      'an unknown protocol',
      container('ports: [{containerPort: 1, protocol: ICMP}]'),
      [
        'spec.containers[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
      ],
    ],
    [
      'one host port twice',
      container('ports: [{containerPort: 1, hostPort: 80}, {containerPort: 2, hostPort: 80}]'),
      ['spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//80"'],
    ],
    [
      'one host port for two protocols and addresses',
      container(
        'ports: [{containerPort: 1, hostPort: 80}, {containerPort: 1, hostPort: 80, ' +
          'protocol: UDP}, {containerPort: 1, hostPort: 80, hostIP: 10.0.0.1}]',
      ),
      [],
    ],
    [
      "other than the host's on its network",
      `${container('ports: [{containerPort: 80, hostPort: 81}]')}\nhostNetwork: true`,
      [
        'spec.containers[0].ports[0].hostPort: Invalid value: 81: must match ' +
          '`containerPort` when `hostNetwork` is true',
      ],
    ],
  ]);
});

describe('environment variables', () => {
  const from = (source: string): string => container(`env: [{name: A, valueFrom: {${source}}}]`);
  const at = 'spec.containers[0].env[0].valueFrom';
  table([
    [
      'without a name',
      container('env: [{value: a}]'),
      ['spec.containers[0].env[0].name: Required value'],
    ],
    [
      'with an equals sign in the name',
      container('env: [{name: "a=b"}]'),
      [
        'spec.containers[0].env[0].name: Invalid value: "a=b": a valid environment ' +
          "variable name must consist only of printable ASCII characters other than '='",
      ],
    ],
    [
      'from fields',
      container(
        'env: [{name: A, valueFrom: {fieldRef: {fieldPath: "metadata.labels[\'a/b\']"}}}, ' +
          '{name: B, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]',
      ),
      [],
    ],
    [
      'a value and a source at once',
      container('env: [{name: A, value: a, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]'),
      [`${at}: Invalid value: "": may not be specified when \`value\` is not empty`],
    ],
    [
      'no source',
      from(''),
      [
        `${at}: Invalid value: "": must specify one of: \`fieldRef\`, ` +
          '`resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      ],
    ],
    [
      'two sources',
      from('fieldRef: {fieldPath: metadata.name}, secretKeyRef: {name: s, key: k}'),
      [`${at}: Invalid value: "": may not have more than one field specified at a time`],
    ],
    [
      'from a field that a variable cannot have',
      from('fieldRef: {fieldPath: status.phase}'),
      [
        `${at}.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: ` +
          '"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", ' +
          '"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", ' +
          '"status.podIPs"',
      ],
    ],
    [
      'from a field that there is not',
      from('fieldRef: {fieldPath: metadata.size}'),
      [
        `${at}.fieldRef.fieldPath: Invalid value: "metadata.size": error converting ` +
          'fieldPath: field label not supported: metadata.size',
      ],
    ],
    [
      'from a part of a field that has none',
      from('fieldRef: {fieldPath: "metadata.name[\'a\']"}'),
      [
        `${at}.fieldRef.fieldPath: Invalid value: "metadata.name['a']": error converting ` +
          "fieldPath: field label does not support subscript: metadata.name['a']",
      ],
    ],
    [
      'from an impossible label',
      from('fieldRef: {fieldPath: "metadata.labels[\'-\']"}'),
      [`${at}.fieldRef: Invalid value: "-": ${NAME_PART}`],
    ],
    [
      'from a field of another version',
      from('fieldRef: {apiVersion: v2, fieldPath: metadata.name}'),
      [
        `${at}.fieldRef.fieldPath: Invalid value: "metadata.name": error converting ` +
          'fieldPath: unsupported pod version: v2',
      ],
    ],
    [
      'from resources',
      container(
        'env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, ' +
          'divisor: 1m}}}, {name: B, valueFrom: {resourceFieldRef: {resource: ' +
          'requests.hugepages-2Mi, divisor: 1Mi}}}]',
      ),
      [],
    ],
    [
      'from a resource that there is not',
      from('resourceFieldRef: {resource: limits.disk}'),
      [
        `${at}.resourceFieldRef.resource: Unsupported value: "limits.disk": supported ` +
          'values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", ' +
          '"requests.cpu", "requests.ephemeral-storage", "requests.memory"',
      ],
    ],
    [
      'in strange units of CPU',
      from('resourceFieldRef: {resource: limits.cpu, divisor: 2m}'),
      [
        `${at}.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's ` +
          'values 1m and 1 are supported with the cpu resource',
      ],
    ],
    [
      'in strange units of memory',
      from('resourceFieldRef: {resource: limits.memory, divisor: 1m}'),
      [
        `${at}.resourceFieldRef.divisor: Invalid value: "limits.memory": only divisor's ` +
          'values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, ' +
          '1Ei are supported with the memory resource',
      ],
    ],
    [
      'from a key without a name',
      from('configMapKeyRef: {key: ..}'),
      [
        `${at}.configMapKeyRef.name: Invalid value: "": ${SUBDOMAIN}`,
        `${at}.configMapKeyRef.key: Invalid value: "..": must not be '..'`,
      ],
    ],
    [
      'from a file',
      from('fileKeyRef: {key: k, path: ../p, volumeName: v}'),
      [
        `${at}.fileKeyRef.path: Invalid value: "../p": must not contain '..'`,
        `${at}.fileKeyRef.volumeName: Not found: "v"`,
      ],
    ],
    [
      'all of something',
      container(
        'envFrom: [{prefix: "a=", configMapRef: {name: "-"}}, {}, {secretRef: {}, configMapRef: {name: m}}]',
      ),
      [
        'spec.containers[0].envFrom[0].prefix: Invalid value: "a=": a valid environment ' +
          "variable name must consist only of printable ASCII characters other than '='",
        `spec.containers[0].envFrom[0].configMapRef.name: Invalid value: "-": ${SUBDOMAIN}`,
        'spec.containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
        'spec.containers[0].envFrom[2].secretRef.name: Required value',
        'spec.containers[0].envFrom: Invalid value: "": may not have more than one field specified at a time',
      ],
    ],
  ]);
});

describe('mounts', () => {
  table([
    [
      'of no volume',
      container('volumeMounts: [{name: v, mountPath: /v}]'),
      ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
    ],
    [
      'two at one path',
      `${container('volumeMounts: [{name: v, mountPath: /v}, {name: v, mountPath: /v}]')}\n` +
        'volumes: [{name: v, emptyDir: {}}]',
      ['spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/v": must be unique'],
    ],
    [
      'nowhere',
      `${container('volumeMounts: [{name: v}]')}\nvolumes: [{name: v, emptyDir: {}}]`,
      ['spec.containers[0].volumeMounts[0].mountPath: Required value'],
    ],
    [
      'a subPath that leads out',
      mount('subPath: a/../../b'),
      [
        `spec.containers[0].volumeMounts.subPath: Invalid value: "a/../../b": must not contain '..'`,
      ],
    ],
    [
      'an absolute subPath',
      mount('subPath: /a'),
      ['spec.containers[0].volumeMounts.subPath: Invalid value: "/a": must be a relative path'],
    ],
    [
      'two forms of a subPath',
      mount('subPath: a, subPathExpr: b'),
      [
        'spec.containers[0].volumeMounts[0].subPathExpr: Invalid value: "b": subPathExpr ' +
          'and subPath are mutually exclusive',
      ],
    ],
    [
      'back to the host',
      mount('mountPropagation: Bidirectional'),
      [
        'spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount ' +
          'propagation is available only to privileged containers',
      ],
    ],
    [
      'an unknown propagation',
      mount('mountPropagation: Up'),
      [
        'spec.containers[0].volumeMounts.mountPropagation: Unsupported value: "Up": ' +
          'supported values: "Bidirectional", "HostToContainer", "None"',
      ],
    ],
    [
      'wholly read-only, but not read-only',
      mount('recursiveReadOnly: Enabled, mountPropagation: HostToContainer'),
      [
        'spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true',
        'spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be ' +
          'specified when mountPropagation is None or not specified',
      ],
    ],
    [
      'a part of an image',
      `${container('volumeMounts: [{name: v, mountPath: /v, subPath: a}]')}\n` +
        'volumes: [{name: v, image: {reference: a}}]',
      [],
    ],
    [
      'as a device what is none',
      container('volumeDevices: [{name: v, devicePath: /dev/x}, {name: w, devicePath: /a/../b}]') +
        '\nvolumes: [{name: v, emptyDir: {}}]',
      [
        'spec.containers[0].volumeDevices[0].name: Invalid value: "v": can only use volume ' +
          'source type of PersistentVolumeClaim or Ephemeral for block mode',
        'spec.containers[0].volumeDevices[1].name: Not found: "w"',
        `spec.containers[0].volumeDevices[1].devicePath: Invalid value: "/a/../b": can not contain backsteps ('..')`,
      ],
    ],
    [
      'as a device and as a folder',
      container(
        'volumeDevices: [{name: v, devicePath: /x}], volumeMounts: [{name: v, mountPath: /x}]',
      ) + '\nvolumes: [{name: v, persistentVolumeClaim: {claimName: a}}]',
      [
        'spec.containers[0].volumeMounts[0].name: Invalid value: "v": must not already exist in volumeDevices',
        'spec.containers[0].volumeMounts[0].mountPath: Invalid value: "/x": must not ' +
          'already exist as a path in volumeDevices',
        'spec.containers[0].volumeDevices[0].name: Invalid value: "v": must not already exist in volumeMounts',
        'spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/x": must not ' +
          'already exist as a path in volumeMounts',
      ],
    ],
  ]);
});

describe('volumes', () => {
  const at = 'spec.volumes[0]';
  table([
    [
      'names',
      `${good}\nvolumes: [{name: v, emptyDir: {}}, {name: v, emptyDir: {}}, {emptyDir: {}}, {name: V, emptyDir: {}}]`,
      [
        'spec.volumes[1].name: Duplicate value: "v"',
        'spec.volumes[2].name: Required value',
        `spec.volumes[3].name: Invalid value: "V": ${LABEL}`,
      ],
    ],
    [
      'two sources',
      volume('emptyDir: {}, hostPath: {path: /}'),
      [`${at}.hostPath: Forbidden: may not specify more than 1 volume type`],
    ],
    [
      'less than nothing',
      volume('emptyDir: {sizeLimit: -1}'),
      [`${at}.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity`],
    ],
    ['no path on the host', volume('hostPath: {}'), [`${at}.hostPath.path: Required value`]],
    [
      'a path up',
      volume('hostPath: {path: /a/../b}'),
      [`${at}.hostPath.path: Invalid value: "/a/../b": must not contain '..'`],
    ],
    [
      'an unknown type of path',
      volume('hostPath: {path: /x, type: Folder}'),
      [
        `${at}.hostPath.type: Unsupported value: "Folder": supported values: "", ` +
          '"BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", ' +
          '"FileOrCreate", "Socket"',
      ],
    ],
    [
      'a secret without a name, with a mode beyond 0777',
      volume('secret: {defaultMode: 512}'),
      [
        `${at}.secret.secretName: Required value`,
        `${at}.secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive`,
      ],
    ],
    [
      'keys that lead out',
      volume(
        'configMap: {name: m, items: [{key: k, path: ../x}, {path: ..x}, {key: k, path: /x, mode: -1}]}',
      ),
      [
        `${at}.configMap.items[0].path: Invalid value: "../x": must not contain '..'`,
        `${at}.configMap.items[1].key: Required value`,
        `${at}.configMap.items[1].path: Invalid value: "..x": must not start with '..'`,
        `${at}.configMap.items[2].path: Invalid value: "/x": must be a relative path`,
        `${at}.configMap.items[2].mode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive`,
      ],
    ],
    [
      'fields as files',
      volume(
        'downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.labels}}, ' +
          '{fieldRef: {fieldPath: spec.nodeName}}, {path: b}, {path: c, ' +
          'resourceFieldRef: {resource: limits.cpu}}]}',
      ),
      [
        `${at}.downwardAPI.path: Required value`,
        `${at}.downwardAPI.fieldRef.fieldPath: Unsupported value: "spec.nodeName": ` +
          'supported values: "metadata.annotations", "metadata.labels", "metadata.name", ' +
          '"metadata.namespace", "metadata.uid"',
        `${at}.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required`,
        `${at}.downwardAPI.resourceFieldRef.containerName: Required value`,
      ],
    ],
    [
      'one path twice',
      volume(
        'projected: {sources: [{secret: {name: s, items: [{key: k, path: p}]}}, ' +
          '{configMap: {name: m, items: [{key: k, path: p}]}}, ' +
          '{downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}]}',
      ),
      [
        `${at}.projected: Invalid value: "m": conflicting duplicate paths`,
        `${at}.projected: Invalid value: "p": conflicting duplicate paths`,
      ],
    ],
    [
      'two sources as one',
      volume('projected: {sources: [{secret: {name: s}, configMap: {}}]}'),
      [
        `${at}.projected.sources[0].configMap.name: Required value`,
        `${at}.projected.sources[0]: Forbidden: may not specify more than 1 volume type per source`,
      ],
    ],
    [
      'tokens',
      'serviceAccountName: a\n' +
        volume(
          'projected: {sources: [{serviceAccountToken: {path: t, expirationSeconds: 599}}, ' +
            '{serviceAccountToken: {expirationSeconds: 4294967297}}]}',
        ),
      [
        `${at}.projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: ` +
          '599: may not specify a duration less than 10 minutes',
        `${at}.projected.sources[1].serviceAccountToken.expirationSeconds: Invalid value: ` +
          '4294967297: may not specify a duration larger than 2^32 seconds',
        `${at}.projected.path: Required value`,
      ],
    ],
    [
      'a token without an account',
      volume('projected: {sources: [{serviceAccountToken: {path: t}}]}'),
      [
        `${at}.projected.sources[0].serviceAccountToken: Forbidden: must not be specified ` +
          'when serviceAccountName is not set',
      ],
    ],
    [
      'trust',
      volume(
        'projected: {sources: [{clusterTrustBundle: {path: a}}, ' +
          '{clusterTrustBundle: {name: t1, signerName: s, path: b}}, ' +
          '{clusterTrustBundle: {name: t1, labelSelector: {}, path: c}}]}',
      ),
      [
        `${at}.projected.sources[0].clusterTrustBundle: Required value: either name or signerName must be specified`,
        `${at}.projected.sources[1].clusterTrustBundle: Invalid value: ` +
          '{"name":"t1","signerName":"s","path":"b"}: only one of name and signerName may be ' +
          'used',
        `${at}.projected.sources[2].clusterTrustBundle.labelSelector: Invalid value: {}: ` +
          'labelSelector must be unset if name is specified',
      ],
    ],
    [
      'a claim without a name',
      volume('persistentVolumeClaim: {}'),
      [`${at}.persistentVolumeClaim.claimName: Required value`],
    ],
    [
      'a claim that is made for the pod itself',
      `${good}\nvolumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: ` +
        '[ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}, {name: w, ' +
        'persistentVolumeClaim: {claimName: p-v}}]',
      [
        'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "p-v": must not ' +
          'reference a PVC that gets created for an ephemeral volume',
      ],
    ],
    [
      'an impossible claim',
      volume(
        'ephemeral: {volumeClaimTemplate: {metadata: {name: x1}, ' +
          'spec: {accessModes: [Sometimes], volumeMode: Tape, ' +
          'resources: {requests: {storage: 0}}}}}',
      ),
      [
        `${at}.ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set`,
        `${at}.ephemeral.volumeClaimTemplate.spec.accessModes: Unsupported value: ` +
          '"Sometimes": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", ' +
          '"ReadWriteOncePod"',
        `${at}.ephemeral.volumeClaimTemplate.spec.resources[storage]: Invalid value: "0": must be greater than zero`,
        `${at}.ephemeral.volumeClaimTemplate.spec.volumeMode: Unsupported value: "Tape": ` +
          'supported values: "Block", "Filesystem"',
      ],
    ],
    ['no image', volume('image: {}'), [`${at}.image.reference: Required value`]],
    [
      'files over the network',
      volume('nfs: {server: s, path: p}'),
      [`${at}.nfs.path: Invalid value: "p": must be an absolute path`],
    ],
    [
      'a driver',
      volume('csi: {driver: a_b, nodePublishSecretRef: {}}'),
      [
        `${at}.csi.driver: Invalid value: "a_b": ${SUBDOMAIN}`,
        `${at}.csi.nodePublishSecretRef.name: Required value`,
      ],
    ],
    [
      'a disk of the network',
      volume('iscsi: {targetPortal: t, iqn: x, lun: 256, chapAuthSession: true}'),
      [
        `${at}.iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa`,
        `${at}.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive`,
        `${at}.iscsi.secretRef: Required value`,
      ],
    ],
    [
      'a fibre',
      volume('fc: {targetWWNs: [a], wwids: [b]}'),
      [
        `${at}.fc.targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be specified simultaneously`,
        `${at}.fc.lun: Required value: lun is required if targetWWNs is specified`,
      ],
    ],
    [
      'options that are taken',
      volume('flexVolume: {driver: d, options: {kubernetes.io/a: b}}'),
      [
        `${at}.flexVolume.options[kubernetes.io/a]: Invalid value: "kubernetes.io/a": ` +
          'kubernetes.io and k8s.io namespaces are reserved',
      ],
    ],
    [
      'a disk elsewhere',
      volume('gcePersistentDisk: {partition: 256}'),
      [
        `${at}.persistentDisk.pdName: Required value`,
        `${at}.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive`,
      ],
    ],
    [
      'another disk elsewhere',
      volume('azureDisk: {diskName: a, diskURI: b, kind: Managed}'),
      [
        `${at}.azureDisk.diskURI: Unsupported value: "b": supported values: ` +
          '"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/' +
          'disks/{disk-id}"',
      ],
    ],
  ]);
});

describe('resources', () => {
  const at = 'spec.containers[0].resources';
  const resources = (fields: string): string => container(`resources: {${fields}}`);
  table([
    [
      'of every sort',
      resources(
        'limits: {cpu: 1, memory: 1Gi, ephemeral-storage: 1Gi, hugepages-2Mi: 4Mi, example.com/gpu: 2}',
      ),
      [],
    ],
    [
      'more requested than allowed',
      resources('requests: {cpu: 2}, limits: {cpu: 1}'),
      [`${at}.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`],
    ],
    [
      'a negative request',
      resources('requests: {memory: -1Gi}'),
      [`${at}.requests[memory]: Invalid value: "-1Gi": must be greater than or equal to 0`],
    ],
    [
      'one that is none',
      resources('requests: {disk: 1}'),
      [
        `${at}.requests[disk]: Invalid value: "disk": must be a standard resource type or fully qualified`,
        `${at}.requests[disk]: Invalid value: "disk": must be a standard resource for containers`,
      ],
    ],
    [
      'half a device',
      resources('requests: {example.com/gpu: 500m}, limits: {example.com/gpu: 1}'),
      [
        `${at}.requests[example.com/gpu]: Invalid value: "500m": must be an integer`,
        `${at}.requests: Invalid value: "500m": must be equal to example.com/gpu limit of 1`,
      ],
    ],
    [
      'a device without a limit',
      resources('requests: {example.com/gpu: 1}'),
      [`${at}.limits: Required value: Limit must be set for non overcommitable resources`],
    ],
    [
      'nothing but huge pages, and not whole ones',
      resources('limits: {hugepages-2Mi: 3Mi}'),
      [
        `${at}.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
        `${at}.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
        `${at}: Forbidden: HugePages require cpu or memory`,
      ],
    ],
    [
      'claims',
      container(
        'resources: {claims: [{name: a}, {name: a}, {name: b}, {name: ""}, {name: d, request: r}, {name: d}]}',
      ) +
        '\nresourceClaims: [{name: a, resourceClaimName: x}, {name: d, resourceClaimTemplateName: z}]',
      [
        `${at}.claims[1]: Duplicate value: "a"`,
        `${at}.claims[2]: Not found: "b": must be one of the names in pod.spec.resourceClaims: a, d`,
        `${at}.claims[3]: Required value`,
        `${at}.claims[5]: Duplicate value: "d"`,
      ],
    ],
    [
      'claims of the pod',
      `${good}\nresourceClaims: [{name: a}, {name: a, resourceClaimName: x, resourceClaimTemplateName: z}]`,
      [
        'spec.resourceClaims[0]: Invalid value: {"name":"a"}: must specify one of: ' +
          '`resourceClaimName`, `resourceClaimTemplateName`',
        'spec.resourceClaims[1].name: Duplicate value: "a"',
        'spec.resourceClaims[1]: Invalid value: ' +
          '{"name":"a","resourceClaimName":"x","resourceClaimTemplateName":"z"}: at most one ' +
          'of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
      ],
    ],
    [
      'of the pod as a whole',
      `${container('resources: {requests: {cpu: 2}, limits: {cpu: 4}}')}\n` +
        'resources: {requests: {cpu: 1}, limits: {cpu: 3}}',
      [
        'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal ' +
          'to aggregate container requests of 2',
        'spec.resources.containers[0][cpu].limits: Invalid value: "4": must be less than or equal to pod limits of 3',
      ],
    ],
    [
      'what a pod as a whole cannot have',
      `${good}\nresources: {requests: {ephemeral-storage: 1Gi}, claims: [{name: a}]}`,
      [
        'spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level',
        'spec.resources.requests[ephemeral-storage]: Unsupported value: ' +
          '"ephemeral-storage": supported values: "cpu", "hugepages-", "memory"',
        'spec.resources.claims[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims which is empty',
      ],
    ],
    [
      'beside the containers',
      `${good}\noverhead: {disk: 1}`,
      [
        'spec.overhead.limits[disk]: Invalid value: "disk": must be a standard resource type or fully qualified',
        'spec.overhead.limits[disk]: Invalid value: "disk": must be a standard resource for containers',
      ],
    ],
  ]);
});

describe('probes and hooks', () => {
  const at = 'spec.containers[0]';
  table([
    [
      'without a handler',
      container('livenessProbe: {periodSeconds: 1}'),
      [`${at}.livenessProbe: Required value: must specify a handler type`],
    ],
    [
      'with two',
      container('livenessProbe: {exec: {command: [x]}, tcpSocket: {port: 1}}'),
      [`${at}.livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type`],
    ],
    [
      'that must succeed twice',
      container(
        'livenessProbe: {successThreshold: 2, tcpSocket: {port: 80}}, ' +
          'startupProbe: {successThreshold: 2, tcpSocket: {port: 80}}, ' +
          'readinessProbe: {successThreshold: 2, tcpSocket: {port: 80}}',
      ),
      [
        `${at}.livenessProbe.successThreshold: Invalid value: 2: must be 1`,
        `${at}.startupProbe.successThreshold: Invalid value: 2: must be 1`,
      ],
    ],
    [
      'with impossible numbers',
      container(
        'livenessProbe: {tcpSocket: {port: 80}, initialDelaySeconds: -1, ' +
          'timeoutSeconds: -1, periodSeconds: -1, failureThreshold: -1, ' +
          'terminationGracePeriodSeconds: 0}',
      ),
      [
        `${at}.livenessProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0`,
        `${at}.livenessProbe.timeoutSeconds: Invalid value: -1: must be greater than or equal to 0`,
        `${at}.livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0`,
        `${at}.livenessProbe.failureThreshold: Invalid value: -1: must be greater than or equal to 0`,
        `${at}.livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0`,
      ],
    ],
    [
      'grace for what ends nothing',
      container('readinessProbe: {tcpSocket: {port: 80}, terminationGracePeriodSeconds: 5}'),
      [
        `${at}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes`,
      ],
    ],
    [
      'handlers',
      container(
        'livenessProbe: {httpGet: {port: 0, scheme: GOPHER, httpHeaders: [{name: "a b", ' +
          'value: c}]}}, readinessProbe: {tcpSocket: {port: A}}, ' +
          'startupProbe: {grpc: {port: 0}}, lifecycle: {preStop: {exec: {}}, ' +
          'postStart: {sleep: {seconds: 31}}}',
      ),
      [
        `${at}.lifecycle.postStart.sleep: Invalid value: 31: must be non-negative and less ` +
          'than terminationGracePeriodSeconds (30)',
        `${at}.lifecycle.preStop.exec.command: Required value`,
        `${at}.livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive`,
        `${at}.livenessProbe.httpGet.scheme: Unsupported value: "GOPHER": supported values: "HTTP", "HTTPS"`,
        `${at}.livenessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP ` +
          "header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', " +
          "regex used for validation is '[-A-Za-z0-9]+')",
        `${at}.readinessProbe.tcpSocket.port: Invalid value: "A": must contain only ` +
          'alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        `${at}.readinessProbe.tcpSocket.port: Invalid value: "A": must contain at least one letter (a-z)`,
        `${at}.startupProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive`,
      ],
    ],
  ]);
});

describe('security', () => {
  const at = 'spec.containers[0].securityContext';
  const context = (fields: string): string => container(`securityContext: {${fields}}`);
  const ofPod = (fields: string): string => `${good}\nsecurityContext: {${fields}}`;
  table([
    [
      'privileged, but without more privileges',
      context('privileged: true, allowPrivilegeEscalation: false'),
      [
        `${at}: Invalid value: {"privileged":true,"allowPrivilegeEscalation":false}: ` +
          'cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
      ],
    ],
    [
      'users and groups out of range',
      context('runAsUser: -1, runAsGroup: 4294967296'),
      [
        `${at}.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive`,
        `${at}.runAsGroup: Invalid value: 4294967296: must be between 0 and 2147483647, inclusive`,
      ],
    ],
    [
      'the whole of /proc',
      context('procMount: Unmasked'),
      [
        `${at}.procMount: Invalid value: "Unmasked": \`hostUsers\` must be false to use \`Unmasked\``,
      ],
    ],
    [
      'seccomp',
      context('seccompProfile: {type: Localhost}'),
      [
        `${at}.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost`,
      ],
    ],
    [
      'seccomp of no type',
      context('seccompProfile: {}'),
      [`${at}.seccompProfile.type: Required value: type is required when seccompProfile is set`],
    ],
    [
      'seccomp of an unknown type',
      context('seccompProfile: {type: Strict, localhostProfile: x}'),
      [
        `${at}.seccompProfile.type: Unsupported value: "Strict": supported values: ` +
          '"Localhost", "RuntimeDefault", "Unconfined"',
        `${at}.seccompProfile.localhostProfile: Invalid value: ` +
          '{"type":"Strict","localhostProfile":"x"}: can only be set when seccomp type is ' +
          'Localhost',
      ],
    ],
    [
      'AppArmor',
      context('appArmorProfile: {type: Localhost, localhostProfile: " x"}'),
      [
        `${at}.appArmorProfile.localhostProfile: Invalid value: " x": must not be padded with whitespace`,
      ],
    ],
    [
      'of the pod',
      ofPod(
        'fsGroup: -1, runAsUser: -1, runAsGroup: -1, supplementalGroups: [-1], ' +
          'fsGroupChangePolicy: Never, supplementalGroupsPolicy: Lax, ' +
          'seLinuxChangePolicy: Never',
      ),
      [
        'spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive',
        'spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive',
        'spec.securityContext.runAsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive',
        'spec.securityContext.supplementalGroups[0]: Invalid value: -1: must be between 0 and 2147483647, inclusive',
        'spec.securityContext.fsGroupChangePolicy: Unsupported value: "Never": supported ' +
          'values: "Always", "OnRootMismatch"',
        'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "Lax": supported values: "Merge", "Strict"',
        'spec.securityContext.seLinuxChangePolicy: Unsupported value: "Never": supported values: "Recursive"',
      ],
    ],
    [
      'parameters of the kernel',
      ofPod(
        'sysctls: [{name: kernel.msgmax, value: a}, {name: kernel.msgmax, value: b}, ' +
          '{name: net/core/x, value: c}, {name: A, value: d}, {value: e}]',
      ) + '\nhostNetwork: true\nhostIPC: true',
      [
        'spec.securityContext.sysctls[0].name: Invalid value: "kernel.msgmax": may not be ' +
          "specified when 'hostIPC' is true",
        'spec.securityContext.sysctls[1].name: Duplicate value: "kernel.msgmax"',
        'spec.securityContext.sysctls[1].name: Invalid value: "kernel.msgmax": may not be ' +
          "specified when 'hostIPC' is true",
        'spec.securityContext.sysctls[2].name: Invalid value: "net/core/x": may not be ' +
          "specified when 'hostNetwork' is true",
        'spec.securityContext.sysctls[3].name: Invalid value: "A": must have at most 253 ' +
          'characters and match regex ' +
          '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$',
        'spec.securityContext.sysctls[4].name: Required value',
      ],
    ],
    [
      'processes shared with each other and with the host',
      `${good}\nshareProcessNamespace: true\nhostPID: true`,
      [
        'spec.securityContext.shareProcessNamespace: Invalid value: true: ' +
          'ShareProcessNamespace and HostPID cannot both be enabled',
      ],
    ],
    [
      "users of its own in the host's namespaces",
      `${good}\nhostUsers: false\nhostNetwork: true\nhostPID: true\nhostIPC: true`,
      [
        'spec.hostNetwork: Forbidden: when `hostUsers` is false',
        'spec.HostPID: Forbidden: when `hostUsers` is false',
        'spec.HostIPC: Forbidden: when `hostUsers` is false',
      ],
    ],
    [
      'an unknown system',
      `${good}\nos: {name: plan9}`,
      ['spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'],
    ],
    ['no system', `${good}\nos: {name: ""}`, ['spec.os.name: Required value']],
    [
      'what is for Windows on Linux',
      `${context('windowsOptions: {runAsUserName: u}')}\nos: {name: linux}`,
      [`${at}.windowsOptions: Forbidden: windows options cannot be set for a linux pod`],
    ],
    [
      'what is for Linux on Windows',
      `${context('privileged: true')}\nos: {name: windows}\nhostPID: true\nsecurityContext: {fsGroup: 1}`,
      [
        'spec.hostPID: Forbidden: cannot be set for a windows pod',
        'spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod',
        `${at}.privileged: Forbidden: cannot be set for a windows pod`,
      ],
    ],
    [
      'users of Windows',
      context('windowsOptions: {runAsUserName: "a\\\\b\\\\c", gmsaCredentialSpec: ""}'),
      [
        `${at}.windowsOptions.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string`,
        `${at}.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName ` +
          'cannot contain more than one backslash',
      ],
    ],
    [
      'processes of the host, on Windows',
      `containers: [{name: c, image: x, securityContext: {windowsOptions: {hostProcess: true}}}, {name: d, image: x}]`,
      [
        'spec: Invalid value: "": If pod contains any hostProcess containers then all ' +
          'containers must be HostProcess containers',
        'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers',
      ],
    ],
  ]);
});

describe('scheduling', () => {
  const required =
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  const preferred = 'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution';
  const nodes = (terms: string): string =>
    `${good}\naffinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ` +
    `{nodeSelectorTerms: [${terms}]}}}`;
  const spread = (fields: string): string =>
    `${good}\ntopologySpreadConstraints: [{maxSkew: 1, topologyKey: k, whenUnsatisfiable: DoNotSchedule, ${fields}}]`;
  table([
    [
      'a label that nothing can have',
      `${good}\nnodeSelector: {a: "b c"}`,
      [`spec.nodeSelector: Invalid value: "b c": ${LABEL_VALUE}`],
    ],
    [
      'no term',
      nodes(''),
      [`${required}: Required value: must have at least one node selector term`],
    ],
    [
      'operators and values',
      nodes(
        '{matchExpressions: [{key: a, operator: In}, {key: a, operator: Exists, ' +
          'values: [b]}, {key: a, operator: Gt, values: ["1", "2"]}, {key: a, ' +
          'operator: Near}, {key: "", operator: In, values: ["-"]}]}',
      ),
      [
        `${required}[0].matchExpressions[0].values: Required value: must be specified when ` +
          "`operator` is 'In' or 'NotIn'",
        `${required}[0].matchExpressions[1].values: Forbidden: may not be specified when ` +
          "`operator` is 'Exists' or 'DoesNotExist'",
        `${required}[0].matchExpressions[2].values: Required value: must be specified ` +
          "single value when `operator` is 'Lt' or 'Gt'",
        `${required}[0].matchExpressions[3].operator: Invalid value: "Near": not a valid selector operator`,
        `${required}[0].matchExpressions[4].key: Invalid value: "": name part must be non-empty`,
        `${required}[0].matchExpressions[4].key: Invalid value: "": ${NAME_PART}`,
        `${required}[0].matchExpressions[4].values[0]: Invalid value: "-": ${LABEL_VALUE}`,
      ],
    ],
    [
      'fields of nodes',
      nodes(
        '{matchFields: [{key: metadata.name, operator: In, values: [a, b]}, {key: metadata.uid, operator: Exists}]}',
      ),
      [
        `${required}[0].matchFields[0].values: Required value: must be only one value when ` +
          "`operator` is 'In' or 'NotIn' for node field selector",
        `${required}[0].matchFields[1].operator: Invalid value: "Exists": not a valid selector operator`,
        `${required}[0].matchFields[1].key: Invalid value: "metadata.uid": not a valid field selector key`,
      ],
    ],
    [
      'preferences: values that no node can have do no harm',
      `${good}\naffinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: ` +
        '[{weight: 101, preference: {matchExpressions: [{key: a, operator: In, ' +
        'values: ["-"]}]}}]}}',
      [`${preferred}[0].weight: Invalid value: 101: must be in the range 1-100`],
    ],
    [
      'other pods',
      `${good}\naffinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ` +
        '[{namespaces: [A]}]}, podAntiAffinity: ' +
        '{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, ' +
        'podAffinityTerm: {topologyKey: k, labelSelector: {matchExpressions: [{key: a, ' +
        'operator: In}]}}}]}}',
      [
        'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].' +
          `namespace: Invalid value: "A": ${LABEL}`,
        'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].' +
          'topologyKey: Required value: can not be empty',
        'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].' +
          'topologyKey: Invalid value: "": name part must be non-empty',
        'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].' +
          `topologyKey: Invalid value: "": ${NAME_PART}`,
        'spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].' +
          'weight: Invalid value: 0: must be in the range 1-100',
        'spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].' +
          'podAffinityTerm.labelSelector.matchExpressions[0].values: Required value: must be ' +
          "specified when `operator` is 'In' or 'NotIn'",
      ],
    ],
    [
      'labels of its own',
      `${good}\naffinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ` +
        '[{topologyKey: k, matchLabelKeys: [a]}, {topologyKey: k, labelSelector: {}, ' +
        'matchLabelKeys: [b], mismatchLabelKeys: [b]}]}}',
      [
        'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].' +
          'matchLabelKeys: Forbidden: must not be specified when labelSelector is not set',
        'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[1].' +
          'matchLabelKeys[0]: Invalid value: "b": exists in both matchLabelKeys and ' +
          'mismatchLabelKeys',
      ],
    ],
    [
      'a toleration of everything that names no operator',
      `${good}\ntolerations: [{}]`,
      [
        'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when ' +
          '`key` is empty, which means "match all values and all keys"',
      ],
    ],
    [
      'tolerations',
      `${good}\ntolerations: [{key: a, operator: Exists, effect: NoSchedule, ` +
        'tolerationSeconds: 1}, {key: a, operator: Exists, value: b}, {key: a, ' +
        'operator: Like}, {key: a, value: "-"}, {key: a, operator: Exists, effect: Slow}]',
      [
        'spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be ' +
          "'NoExecute' when `tolerationSeconds` is set",
        `spec.tolerations[1].operator: Invalid value: "b": value must be empty when \`operator\` is 'Exists'`,
        'spec.tolerations[2].operator: Unsupported value: "Like": supported values: "Equal", "Exists"',
        `spec.tolerations[3].operator: Invalid value: "-": ${LABEL_VALUE}`,
        'spec.tolerations[4].effect: Unsupported value: "Slow": supported values: ' +
          '"NoSchedule", "PreferNoSchedule", "NoExecute"',
      ],
    ],
    [
      'spread',
      `${good}\ntopologySpreadConstraints: [{maxSkew: 0, whenUnsatisfiable: Panic, minDomains: 0}]`,
      [
        'spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
        'spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty',
        'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Panic": ' +
          'supported values: "DoNotSchedule", "ScheduleAnyway"',
        'spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero',
        'spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: can only use ' +
          'minDomains if whenUnsatisfiable=DoNotSchedule, not Panic',
      ],
    ],
    [
      'spread twice the same way',
      `${good}\ntopologySpreadConstraints: [{maxSkew: 1, topologyKey: k, ` +
        'whenUnsatisfiable: DoNotSchedule, labelSelector: {}}, {maxSkew: 2, topologyKey: k, ' +
        'whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]',
      [
        'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{k, DoNotSchedule}"',
      ],
    ],
    [
      'spread over nodes',
      spread('labelSelector: {}, nodeAffinityPolicy: Maybe'),
      [
        'spec.topologySpreadConstraints[0].nodeAffinityPolicy: Unsupported value: "Maybe": ' +
          'supported values: "Honor", "Ignore"',
      ],
    ],
    [
      'gates',
      `${good}\nnodeName: n1\nschedulingGates: [{name: a}, {name: a}, {name: "-"}]`,
      [
        'spec.schedulingGates[1]: Duplicate value: "a"',
        `spec.schedulingGates[2]: Invalid value: "-": ${NAME_PART}`,
        'spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared',
      ],
    ],
  ]);
});

describe('other fields', () => {
  table([
    [
      'an unknown restart policy',
      `${good}\nrestartPolicy: Sometimes`,
      [
        'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
      ],
    ],
    [
      'an unknown DNS policy',
      `${good}\ndnsPolicy: Mine`,
      [
        'spec.dnsPolicy: Unsupported value: "Mine": supported values: ' +
          '"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
      ],
    ],
    [
      'a DNS policy of None without servers',
      `${good}\ndnsPolicy: None`,
      ['spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None'],
    ],
    [
      'a DNS policy of None with an empty configuration',
      `${good}\ndnsPolicy: None\ndnsConfig: {}`,
      [
        'spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None',
      ],
    ],
    [
      'a DNS configuration',
      `${good}\ndnsConfig: {nameservers: [1.1.1.1, 1.1.1.2, 1.1.1.3, x], searches: [".", a_b.c., "-"], options: [{}]}`,
      [
        'spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","x"]: ' +
          'must not have more than 3 nameservers',
        'spec.dnsConfig.nameservers[3]: Invalid value: "x": must be a valid IP address, ' +
          '(e.g. 10.9.8.7 or 2001:db8::ffff)',
        'spec.dnsConfig.searches[2]: Invalid value: "-": a lowercase RFC 1123 subdomain ' +
          "must consist of lower case alphanumeric characters, '_', '-' or '.', " +
          "and must start and end with an alphanumeric character (e.g. 'example.com', " +
          'regex used for validation is ' +
          "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
        'spec.dnsConfig.options[0]: Required value: must not be empty',
      ],
    ],
    [
      'hosts',
      `${good}\nhostAliases: [{ip: x, hostnames: [a, A]}]`,
      [
        'spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        `spec.hostAliases[0].hostnames[1]: Invalid value: "A": ${SUBDOMAIN}`,
      ],
    ],
    [
      'a deadline of zero',
      `${good}\nactiveDeadlineSeconds: 0`,
      ['spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive'],
    ],
    [
      'names',
      `${good}\nserviceAccountName: A\nnodeName: A\nhostname: a.b\nsubdomain: A\n` +
        'priorityClassName: A\nruntimeClassName: A\nreadinessGates: [{conditionType: "-"}]',
      [
        `spec.readinessGates[0].conditionType: Invalid value: "-": ${NAME_PART}`,
        `spec.serviceAccountName: Invalid value: "A": ${SUBDOMAIN}`,
        `spec.nodeName: Invalid value: "A": ${SUBDOMAIN}`,
        'spec.hostname: Invalid value: "a.b": must not contain dots',
        `spec.subdomain: Invalid value: "A": ${LABEL}`,
        `spec.priorityClassName: Invalid value: "A": ${SUBDOMAIN}`,
        `spec.runtimeClassName: Invalid value: "A": ${SUBDOMAIN}`,
      ],
    ],
    ['any scheduler', `${good}\nschedulerName: Any Name`, []],
    ['a secret without a name', `${good}\nimagePullSecrets: [{}]`, []],
    [
      'an unknown preemption policy',
      `${good}\npreemptionPolicy: Mine`,
      [
        'spec.preemptionPolicy: Unsupported value: "Mine": supported values: "PreemptLowerPriority", "Never"',
      ],
    ],
    [
      'a name of its own',
      `${good}\nhostnameOverride: ${'a'.repeat(65)}\nhostNetwork: true\nsetHostnameAsFQDN: true`,
      [
        'spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true',
        'spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true',
        'spec.hostnameOverride: Too long: may not be more than 64 bytes',
      ],
    ],
  ]);

  test.each<[annotations: string, errors: string[]]>([
    ['{controller.kubernetes.io/pod-deletion-cost: "-5"}', []],
    [
      '{controller.kubernetes.io/pod-deletion-cost: "+5"}',
      [
        'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: ' +
          '"+5": must be a 32bit integer',
      ],
    ],
    [
      '{controller.kubernetes.io/pod-deletion-cost: "2147483648"}',
      [
        'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: ' +
          '"2147483648": must be a 32bit integer',
      ],
    ],
    [
      '{kubernetes.io/config.mirror: x}',
      [
        'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set ' +
          'spec.nodeName if mirror pod annotation is set',
      ],
    ],
  ])('annotations %s', (annotations, errors) => {
    expect(messages(validatePod(pod(good, `, annotations: ${annotations}`)))).toEqual(errors);
  });
});

describe('templates', () => {
  const template = (spec: string, metadata = ''): core.PodTemplateSpec =>
    manifest<core.ReplicationController>(
      'core/v1.ReplicationController',
      `spec: {template: {metadata: {${metadata}}, spec: {${spec}}}}`,
    ).spec.template!;
  test.each<[what: string, template: core.PodTemplateSpec, errors: string[]]>([
    ['may have white space around images', template(`containers: [{name: c, image: ' x'}]`), []],
    [
      "may leave the host's ports out",
      template(
        'hostNetwork: true, containers: [{name: c, image: x, ports: [{containerPort: 80}]}]',
      ),
      [],
    ],
    [
      "may not have other host's ports",
      template(
        'hostNetwork: true, containers: [{name: c, image: x, ports: [{containerPort: 80, hostPort: 81}]}]',
      ),
      [
        'template.spec.containers[0].ports[0].hostPort: Invalid value: 81: must match ' +
          '`containerPort` when `hostNetwork` is true',
      ],
    ],
    [
      'may have images to be named later',
      template('containers: [{name: c, image: x}], volumes: [{name: v, image: {}}]'),
      [],
    ],
    [
      'have labels and annotations',
      template('containers: [{name: c, image: x}]', 'labels: {a: "-"}, annotations: {"a b": c}'),
      [
        `template.labels: Invalid value: "-": ${LABEL_VALUE}`,
        `template.annotations: Invalid value: "a b": ${NAME_PART}`,
      ],
    ],
    [
      'have no ephemeral containers',
      template('containers: [{name: c, image: x}], ephemeralContainers: [{name: e, image: x}]'),
      [
        'template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template',
      ],
    ],
  ])('%s', (_, given, errors) => {
    expect(messages(validatePodTemplate(given, path('template')))).toEqual(errors);
  });
});
