// Containers of pods: their environment, mounts and probes. Valid cases, and the paths and types of
// the errors. pod.test.ts contains the messages.

import { describe, expect, test } from 'vitest';

import { indent, manifest } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { path, type FieldErrorList } from '#machinery/validation/field.ts';
import { validatePod, validatePodEphemeralContainersUpdate, validatePodTemplate } from './index.ts';

const short = (errors: FieldErrorList, prefix: string): string[] =>
  errors.map(({ field, type }) => `${field.replace(prefix, '')} ${type.replace('FieldValue', '')}`);

const pod = (spec: string): core.Pod =>
  manifest('core/v1.Pod', `metadata: {name: p, namespace: default}\nspec:\n${indent(spec)}`);

/** Returns the errors of a pod; paths begin at its spec. */
const errorsOf = (spec: string): string[] => short(validatePod(pod(spec)), 'spec.');

/** Returns the errors of the only container; paths begin there. */
const errorsIn = (container: string, more = ''): string[] =>
  short(
    validatePod(pod(`containers: [{name: c, image: x, ${container}}]${more}`)),
    'spec.containers[0].',
  );

type Case = [what: string, fields: string, ...errors: string[]];

function table(cases: readonly Case[], more = ''): void {
  test.each(cases)('%s', (_what, fields, ...errors) => {
    expect(errorsIn(fields, more)).toEqual(errors);
  });
}

describe('containers', () => {
  test.each<[what: string, spec: string, ...errors: string[]]>([
    [
      'names',
      'containers: [{name: abc, image: x}, {name: "123", image: x}, {name: abc-123, image: x}]',
    ],
    ['no name', 'containers: [{name: "", image: x}]', 'containers[0].name Required'],
    ['no image', 'containers: [{name: abc}]', 'containers[0].image Required'],
    [
      'a long name',
      `containers: [{name: ${'a'.repeat(64)}, image: x}]`,
      'containers[0].name Invalid',
    ],
    ['a name with dots', 'containers: [{name: a.b.c, image: x}]', 'containers[0].name Invalid'],
    [
      'one name twice',
      'containers: [{name: a, image: x}, {name: a, image: x}]',
      'containers[1].name Duplicate',
    ],
    [
      'one port of the host twice',
      'containers: [{name: a, image: x, ports: [{containerPort: 80, hostPort: 80}]}, ' +
        '{name: b, image: x, ports: [{containerPort: 81, hostPort: 80}]}]',
      'containers[1].ports[0].hostPort Duplicate',
    ],
    [
      'one port of the host for a sidecar and a container',
      'containers: [{name: a, image: x, ports: [{containerPort: 80, hostPort: 80}]}]\n' +
        'initContainers: [{name: b, image: x, restartPolicy: Always, ' +
        'ports: [{containerPort: 81, hostPort: 80}]}]',
    ],
  ])('%s', (_what, spec, ...errors) => {
    expect(errorsOf(spec)).toEqual(errors);
  });

  test.each(['" "', '" some  "'])('an image named %s is for templates only', (image) => {
    const { template } = manifest<core.ReplicationController>(
      'core/v1.ReplicationController',
      `spec: {template: {spec: {containers: [{name: c, image: ${image}}]}}}`,
    ).spec;
    expect(validatePodTemplate(template!, path('template'))).toEqual([]);
    expect(errorsOf(`containers: [{name: c, image: ${image}}]`)).toEqual([
      'containers[0].image Invalid',
    ]);
  });

  table([
    ['pulled always', 'imagePullPolicy: Always'],
    ['pulled never', 'imagePullPolicy: Never'],
    ['pulled if need be', 'imagePullPolicy: IfNotPresent'],
    ['pulled somehow', 'imagePullPolicy: PullThreeTimes', 'imagePullPolicy NotSupported'],
    ['last words in a file', 'terminationMessagePolicy: File'],
    ['last words in the log', 'terminationMessagePolicy: FallbackToLogsOnError'],
    [
      'last words somewhere',
      'terminationMessagePolicy: Unknown',
      'terminationMessagePolicy NotSupported',
    ],
    ['a variable with a strange name', 'env: [{name: "ev!1"}]'],
    ['a variable that cannot be', 'env: [{name: "ev=1"}]', 'env[0].name Invalid'],
  ]);
});

describe('ports', () => {
  const port = (fields: string): string => `ports: [{containerPort: 80, ${fields}}]`;
  table([
    [
      'all protocols',
      'ports: [{name: abc, containerPort: 80, hostPort: 80, protocol: TCP}, {name: as, ' +
        'containerPort: 83, protocol: UDP}, {name: do-re-me, containerPort: 84, ' +
        'protocol: SCTP}, {containerPort: 85}]',
    ],
    ['a long name', port(`name: ${'a'.repeat(16)}`), 'ports[0].name Invalid'],
    ['a name with dots', port('name: a.b.c'), 'ports[0].name Invalid'],
    ['a number as its name', port('name: "80"'), 'ports[0].name Invalid'],
    [
      'one name twice',
      'ports: [{name: a, containerPort: 80}, {name: a, containerPort: 81}]',
      'ports[1].name Duplicate',
    ],
    ['no port', 'ports: [{containerPort: 0}]', 'ports[0].containerPort Required'],
    ['a port too high', 'ports: [{containerPort: 65536}]', 'ports[0].containerPort Invalid'],
    ["a host's port too high", port('hostPort: 65536'), 'ports[0].hostPort Invalid'],
    ['a protocol in small letters', port('protocol: tcp'), 'ports[0].protocol NotSupported'],
    ['an unknown protocol', port('protocol: ICMP'), 'ports[0].protocol NotSupported'],
    ['an address of the host that is none', port('hostPort: 80, hostIP: x')],
    [
      'the same port for TCP and UDP',
      'ports: [{containerPort: 80, hostPort: 80, protocol: TCP}, {containerPort: 80, hostPort: 80, protocol: UDP}]',
    ],
  ]);
});

describe('variables', () => {
  const NAMES = [
    '!"#$%&\\\'()',
    '* +,-./0123456789',
    ':;<>?@',
    'ABCDEFG',
    'abcdefghijklmn',
    '[]^_`{}|~',
    'a.b_c-d',
    'A.b',
    '1a',
  ];
  test.each(NAMES.map((name) => name.replaceAll('\\', '')))('may be named %s', (name) => {
    const quoted = JSON.stringify(name).replace('\u007f', String.raw`\u007f`);
    expect(errorsIn(`env: [{name: ${quoted}, value: a}]`)).toEqual([]);
    expect(
      errorsIn(
        `envFrom: [{prefix: ${quoted}, configMapRef: {name: m}}, {prefix: ${quoted}, secretRef: {name: s}}]`,
      ),
    ).toEqual([]);
  });
  test.each(['=', 'a=b', '=abc', 'Ä', 'a\tb', 'a\u007f'])('may not be named %j', (name) => {
    const quoted = JSON.stringify(name).replace('\u007f', String.raw`\u007f`);
    expect(errorsIn(`env: [{name: ${quoted}, value: a}]`)).toEqual(['env[0].name Invalid']);
    expect(errorsIn(`envFrom: [{prefix: ${quoted}, configMapRef: {name: m}}]`)).toEqual([
      'envFrom[0].prefix Invalid',
    ]);
  });

  const from = (source: string, value = ''): string =>
    `env: [{name: A, ${value}valueFrom: {${source}}}]`;
  const fieldRef = (fieldPath: string, apiVersion = 'v1'): string =>
    from(`fieldRef: {apiVersion: ${apiVersion}, fieldPath: "${fieldPath}"}`);
  const at = 'env[0].valueFrom';
  table([
    ['no name', 'env: [{name: ""}]', 'env[0].name Required'],
    ...[
      "metadata.annotations['key']",
      "metadata.annotations['test.example.com/KEY']",
      "metadata.labels['key']",
      "metadata.labels['test.example.com/key']",
      'metadata.name',
      'metadata.namespace',
      'metadata.uid',
      'spec.nodeName',
      'spec.serviceAccountName',
      'status.hostIP',
      'status.hostIPs',
      'status.podIP',
      'status.podIPs',
    ].map((fieldPath): Case => [fieldPath, fieldRef(fieldPath)]),
    ...[
      'metadata.labels',
      'metadata.annotations',
      'status.phase',
      'spec.schedulerName',
      'spec.restartPolicy',
    ].map((fieldPath): Case => [
      fieldPath,
      fieldRef(fieldPath),
      `${at}.fieldRef.fieldPath NotSupported`,
    ]),
    ...['metadata.whoops', 'status', 'name', 'spec.containers[0].name'].map((fieldPath): Case => [
      fieldPath,
      fieldRef(fieldPath),
      `${at}.fieldRef.fieldPath Invalid`,
    ]),
    ['no path', fieldRef(''), `${at}.fieldRef.fieldPath Required`],
    [
      'a part of what has none',
      fieldRef("metadata.name['key']"),
      `${at}.fieldRef.fieldPath Invalid`,
    ],
    ['a part of a part', fieldRef("metadata.labels['a']['b']"), `${at}.fieldRef Invalid`],
    [
      'no such label',
      fieldRef("metadata.labels['']"),
      `${at}.fieldRef Invalid`,
      `${at}.fieldRef Invalid`,
    ],
    ['no such prefix of a label', fieldRef("metadata.labels['a..b/c']"), `${at}.fieldRef Invalid`],
    ['no such annotation', fieldRef("metadata.annotations['a b']"), `${at}.fieldRef Invalid`],
    ['annotations in large letters', fieldRef("metadata.annotations['A.B/C']")],
    ['labels in large letters', fieldRef("metadata.labels['A.B/C']"), `${at}.fieldRef Invalid`],
    ['another version', fieldRef('metadata.name', 'v2'), `${at}.fieldRef.fieldPath Invalid`],
    ['a value too', from('fieldRef: {fieldPath: metadata.name}', 'value: a, '), `${at} Invalid`],
    ['a value, and no source', from('', 'value: a, '), `${at} Invalid`],
    ['no source', from(''), `${at} Invalid`],
    [
      'two sources',
      from('fieldRef: {fieldPath: metadata.name}, configMapKeyRef: {name: m, key: k}'),
      `${at} Invalid`,
    ],
    [
      'three sources',
      from(
        'fieldRef: {fieldPath: metadata.name}, configMapKeyRef: {name: m, key: k}, secretKeyRef: {name: s, key: k}',
      ),
      `${at} Invalid`,
    ],
    ['a key of a secret', from('secretKeyRef: {name: s, key: k}')],
    ['a key of a map', from('configMapKeyRef: {name: m, key: k}')],
    [
      'a key of nothing',
      from('secretKeyRef: {name: "", key: k}'),
      `${at}.secretKeyRef.name Invalid`,
    ],
    [
      'no key of a secret',
      from('secretKeyRef: {name: s, key: ""}'),
      `${at}.secretKeyRef.key Required`,
    ],
    [
      'no key of a map',
      from('configMapKeyRef: {name: m, key: ""}'),
      `${at}.configMapKeyRef.key Required`,
    ],
    [
      'a bad name of a map',
      from('configMapKeyRef: {name: "$%^&*#", key: a}'),
      `${at}.configMapKeyRef.name Invalid`,
    ],
    [
      'a bad name of a secret',
      from('secretKeyRef: {name: "$%^&*#", key: a}'),
      `${at}.secretKeyRef.name Invalid`,
    ],
    ['a bad key', from('secretKeyRef: {name: s, key: a/b}'), `${at}.secretKeyRef.key Invalid`],
    ...['limits', 'requests'].flatMap((list) =>
      ['cpu', 'memory', 'ephemeral-storage', 'hugepages-2Mi'].map((name): Case => [
        `${list}.${name}`,
        from(`resourceFieldRef: {containerName: c, resource: ${list}.${name}}`),
      ]),
    ),
    [
      'no resource',
      from('resourceFieldRef: {resource: ""}'),
      `${at}.resourceFieldRef.resource Required`,
    ],
    [
      'an unknown resource',
      from('resourceFieldRef: {resource: limits.whoops}'),
      `${at}.resourceFieldRef.resource NotSupported`,
    ],
    ...['1', '1k', '1Ki', '1Gi', '1E'].map((divisor): Case => [
      divisor,
      from(`resourceFieldRef: {resource: limits.memory, divisor: "${divisor}"}`),
    ]),
    ...['1m', '2', '10Mi'].map((divisor): Case => [
      `memory by ${divisor}`,
      from(`resourceFieldRef: {resource: limits.memory, divisor: "${divisor}"}`),
      `${at}.resourceFieldRef.divisor Invalid`,
    ]),
    ['CPU by thousands', from('resourceFieldRef: {resource: limits.cpu, divisor: 1m}')],
    [
      'CPU by Ki',
      from('resourceFieldRef: {resource: limits.cpu, divisor: 1Ki}'),
      `${at}.resourceFieldRef.divisor Invalid`,
    ],
    ['storage by Mi', from('resourceFieldRef: {resource: limits.ephemeral-storage, divisor: 1Mi}')],
    [
      'storage by thousands',
      from('resourceFieldRef: {resource: limits.ephemeral-storage, divisor: 1m}'),
      `${at}.resourceFieldRef.divisor Invalid`,
    ],
    [
      'huge pages by thousands',
      from('resourceFieldRef: {resource: limits.hugepages-2Mi, divisor: 1m}'),
      `${at}.resourceFieldRef.divisor Invalid`,
    ],
  ]);

  const file = (fields: string): string => from(`fileKeyRef: {${fields}}`);
  const VOLUME = '\nvolumes: [{name: v, emptyDir: {}}, {name: m, configMap: {name: a}}]';
  describe('from files', () => {
    table(
      [
        ['one', file('volumeName: v, path: path/to/file.env, key: MY_VAR')],
        ['one that need not be', file('volumeName: v, path: a, key: b, optional: true')],
        ['no key', file('volumeName: v, path: a, key: ""'), `${at}.fileKeyRef.key Required`],
        [
          'no key, that need not be',
          file('volumeName: v, path: a, key: "", optional: true'),
          `${at}.fileKeyRef.key Required`,
        ],
        [
          'a bad key',
          file('volumeName: v, path: a, key: "bad=key"'),
          `${at}.fileKeyRef.key Invalid`,
        ],
        [
          'a value too',
          from('fileKeyRef: {volumeName: v, path: a, key: b}', 'value: a, '),
          `${at} Invalid`,
        ],
        ['no path', file('volumeName: v, path: "", key: b'), `${at}.fileKeyRef.path Required`],
        ['up', file('volumeName: v, path: ../etc/passwd, key: b'), `${at}.fileKeyRef.path Invalid`],
        ['from the root', file('volumeName: v, path: /a, key: b')],
        [
          'no volume',
          file('volumeName: "", path: a, key: b'),
          `${at}.fileKeyRef.volumeName Required`,
          `${at}.fileKeyRef.volumeName NotFound`,
        ],
        [
          'another kind of volume',
          file('volumeName: m, path: a, key: b'),
          `${at}.fileKeyRef.volumeName Invalid`,
        ],
        [
          'a volume that there is not',
          file('volumeName: w, path: a, key: b'),
          `${at}.fileKeyRef.volumeName NotFound`,
        ],
      ],
      VOLUME,
    );
  });

  describe('all at once', () => {
    table([
      [
        'a map',
        'envFrom: [{configMapRef: {name: abc}}, {prefix: pre_, configMapRef: {name: abc}}, ' +
          '{prefix: a.b, configMapRef: {name: abc}}]',
      ],
      ['a secret', 'envFrom: [{secretRef: {name: abc}}, {prefix: pre_, secretRef: {name: abc}}]'],
      [
        'a map of no name',
        'envFrom: [{configMapRef: {name: ""}}]',
        'envFrom[0].configMapRef.name Required',
      ],
      [
        'a secret of no name',
        'envFrom: [{secretRef: {name: ""}}]',
        'envFrom[0].secretRef.name Required',
      ],
      [
        'a map of a bad name',
        'envFrom: [{configMapRef: {name: "$%^&*#"}}]',
        'envFrom[0].configMapRef.name Invalid',
      ],
      [
        'a secret of a bad name',
        'envFrom: [{secretRef: {name: "&"}}]',
        'envFrom[0].secretRef.name Invalid',
      ],
      ['nothing', 'envFrom: [{}]', 'envFrom Invalid'],
      ['both', 'envFrom: [{secretRef: {name: abc}, configMapRef: {name: abc}}]', 'envFrom Invalid'],
    ]);
  });
});

const CLAIM =
  'volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}';
const VOLUMES =
  '\nvolumes: [{name: a, persistentVolumeClaim: {claimName: a}}, {name: b, ' +
  'persistentVolumeClaim: {claimName: b}}, {name: h, hostPath: {path: /h}}, {name: e, ' +
  `ephemeral: {${CLAIM}}}, {name: i, image: {reference: r}}]`;

describe('mounts', () => {
  const mount = (fields: string): string => `volumeMounts: [{mountPath: /m, ${fields}}]`;
  const DEVICE = 'volumeDevices: [{name: b, devicePath: /mnt/exists}]';
  table(
    [
      ['a claim', mount('name: a')],
      ['a folder of the host', mount('name: h')],
      ['a claim of its own', mount('name: e')],
      ['an image', mount('name: i')],
      ['a part of an image', mount('name: i, subPath: foo')],
      ['a part of an image, by a variable', mount('name: i, subPathExpr: $(POD_NAME)')],
      [
        'a part of an image from the root',
        mount('name: i, subPath: /foo'),
        'volumeMounts.subPath Invalid',
      ],
      ['an empty part', mount('name: a, subPath: ""')],
      ...['baz', '.baz', '..baz', 'a/..b'].map((name): Case => [
        name,
        mount(`name: a, subPath: ${name}`),
      ]),
      ...['/baz', '../baz', 'baz/../bat', './..'].map((name): Case => [
        name,
        mount(`name: a, subPath: ${name}`),
        'volumeMounts.subPath Invalid',
      ]),
      [
        'at a disk',
        'volumeMounts: [{name: a, mountPath: "d:"}, {name: a, mountPath: "F:"}, {name: a, mountPath: "G:\\\\mount"}]',
      ],
      [
        'no name',
        mount('name: ""'),
        'volumeMounts[0].name Required',
        'volumeMounts[0].name NotFound',
      ],
      ['no such name', mount('name: z'), 'volumeMounts[0].name NotFound'],
      ['nowhere', 'volumeMounts: [{name: a, mountPath: ""}]', 'volumeMounts[0].mountPath Required'],
      [
        'two at one place',
        'volumeMounts: [{name: a, mountPath: /m}, {name: b, mountPath: /m}]',
        'volumeMounts[1].mountPath Invalid',
      ],
      [
        'what is a device',
        `${DEVICE}, ${mount('name: b')}`,
        'volumeMounts[0].name Invalid',
        'volumeDevices[0].name Invalid',
      ],
      [
        'where a device is',
        `${DEVICE}, volumeMounts: [{name: a, mountPath: /mnt/exists}]`,
        'volumeMounts[0].mountPath Invalid',
        'volumeDevices[0].devicePath Invalid',
      ],
      ['a part by a variable', mount('name: a, subPathExpr: $(POD_NAME)')],
      [
        'a part by both',
        mount('name: a, subPath: s, subPathExpr: $(POD_NAME)'),
        'volumeMounts[0].subPathExpr Invalid',
      ],
      [
        'a part by a variable, up',
        mount('name: a, subPathExpr: ../$(A)'),
        'volumeMounts.subPathExpr Invalid',
      ],
      ['read only', mount('name: h, readOnly: true')],
      ...['Disabled', 'IfPossible', 'Enabled'].map((how): Case => [
        `read only throughout: ${how}`,
        mount(`name: h, readOnly: true, recursiveReadOnly: ${how}`),
      ]),
      ['not read only throughout', mount('name: h, recursiveReadOnly: Disabled')],
      [
        'read only below',
        mount('name: h, recursiveReadOnly: Enabled'),
        'volumeMounts.recursiveReadOnly Forbidden',
      ],
      [
        'read only below, if possible',
        mount('name: h, recursiveReadOnly: IfPossible'),
        'volumeMounts.recursiveReadOnly Forbidden',
      ],
      [
        'read only throughout, somehow',
        mount('name: h, readOnly: true, recursiveReadOnly: Perhaps'),
        'volumeMounts.recursiveReadOnly NotSupported',
      ],
      [
        'recursively read-only without propagation',
        mount('name: h, readOnly: true, recursiveReadOnly: Enabled, mountPropagation: None'),
      ],
      [
        'read only throughout, and what comes later',
        mount(
          'name: h, readOnly: true, recursiveReadOnly: Enabled, mountPropagation: HostToContainer',
        ),
        'volumeMounts.recursiveReadOnly Forbidden',
      ],
    ],
    VOLUMES,
  );

  test.each<[privileged: string, propagation: string, ...errors: string[]]>([
    ['', ''],
    ['', 'HostToContainer'],
    ['', 'None'],
    ['', 'Bidirectional', 'volumeMounts.mountPropagation Forbidden'],
    ['false', ''],
    ['false', 'HostToContainer'],
    ['false', 'Bidirectional', 'volumeMounts.mountPropagation Forbidden'],
    ['true', ''],
    ['true', 'HostToContainer'],
    ['true', 'Bidirectional'],
    ['true', 'invalid', 'volumeMounts.mountPropagation NotSupported'],
  ])('privileged: %s, propagation: %s', (privileged, propagation, ...errors) => {
    const context = privileged === '' ? '' : `securityContext: {privileged: ${privileged}}, `;
    const fields = propagation === '' ? 'name: h' : `name: h, mountPropagation: ${propagation}`;
    expect(errorsIn(`${context}${mount(fields)}`, VOLUMES)).toEqual(errors);
  });
});

describe('devices', () => {
  const device = (name: string, devicePath: string, more = ''): string =>
    `volumeDevices: [{name: ${name}, devicePath: ${devicePath}}${more}]`;
  table(
    [
      [
        'claims',
        device(
          'a',
          '/foo',
          ', {name: b, devicePath: /usr/share/test}, {name: e, devicePath: /disk}',
        ),
      ],
      [
        'no name',
        device('""', '/foo'),
        'volumeDevices[0].name Required',
        'volumeDevices[0].name NotFound',
      ],
      [
        'one twice',
        device('a', '/foo', ', {name: a, devicePath: /bar}'),
        'volumeDevices[1].name Invalid',
      ],
      ['no such name', device('z', '/foo'), 'volumeDevices[0].name NotFound'],
      ['of another kind', device('h', '/foo'), 'volumeDevices[0].name Invalid'],
      ['nowhere', device('a', '""'), 'volumeDevices[0].devicePath Required'],
      [
        'two at one place',
        device('a', '/foo', ', {name: b, devicePath: /foo}'),
        'volumeDevices[1].devicePath Invalid',
      ],
      ['up', device('a', '/baz/../'), 'volumeDevices[0].devicePath Invalid'],
      ['relative', device('a', 'baz')],
      [
        'what is mounted, where it is',
        `volumeMounts: [{name: a, mountPath: /foo}], ${device('a', '/foo')}`,
        'volumeMounts[0].name Invalid',
        'volumeMounts[0].mountPath Invalid',
        'volumeDevices[0].name Invalid',
        'volumeDevices[0].devicePath Invalid',
      ],
    ],
    VOLUMES,
  );
});

describe('probes', () => {
  const probe = (fields: string, kind = 'livenessProbe'): string =>
    `${kind}: {exec: {command: [echo]}, ${fields}}`;
  const NUMBERS = [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ];
  table([
    ...NUMBERS.map((name): Case => [`${name} 10`, probe(`${name}: 10`, 'readinessProbe')]),
    ...NUMBERS.map((name): Case => [
      `${name} -10`,
      probe(`${name}: -10`, 'readinessProbe'),
      `readinessProbe.${name} Invalid`,
    ]),
    [
      'no handler',
      'livenessProbe: {timeoutSeconds: 10, initialDelaySeconds: 10}',
      'livenessProbe Required',
    ],
    [
      'two handlers',
      'livenessProbe: {exec: {command: [a]}, tcpSocket: {port: 80}}',
      'livenessProbe.tcpSocket Forbidden',
    ],
    [
      'negative grace',
      probe('terminationGracePeriodSeconds: -1'),
      'livenessProbe.terminationGracePeriodSeconds Invalid',
    ],
    [
      'no grace',
      probe('terminationGracePeriodSeconds: 0'),
      'livenessProbe.terminationGracePeriodSeconds Invalid',
    ],
    ['grace', probe('terminationGracePeriodSeconds: 1')],
    ['grace before it starts', probe('terminationGracePeriodSeconds: 1', 'startupProbe')],
    [
      'grace while it is not ready',
      probe('terminationGracePeriodSeconds: 10', 'readinessProbe'),
      'readinessProbe.terminationGracePeriodSeconds Invalid',
    ],
    ['alive twice', probe('successThreshold: 2'), 'livenessProbe.successThreshold Invalid'],
    [
      'started twice',
      probe('successThreshold: 2', 'startupProbe'),
      'startupProbe.successThreshold Invalid',
    ],
    ['ready twice', probe('successThreshold: 2', 'readinessProbe')],
    ...(['livenessProbe', 'startupProbe', 'readinessProbe'] as const).map((kind): Case => [
      `negative: ${kind}`,
      probe(
        [...NUMBERS, 'terminationGracePeriodSeconds'].map((name) => `${name}: -1`).join(', '),
        kind,
      ),
      ...[...NUMBERS, 'terminationGracePeriodSeconds'].map((name) => `${kind}.${name} Invalid`),
      // A second error: successThreshold must be 1, and a readiness probe has no grace period.
      `${kind}.${kind === 'readinessProbe' ? 'terminationGracePeriodSeconds' : 'successThreshold'} Invalid`,
    ]),
    ['gRPC', 'livenessProbe: {grpc: {port: 80, service: s}}'],
    ['gRPC, no port', 'livenessProbe: {grpc: {port: 0}}', 'livenessProbe.grpc.port Invalid'],
    ['TCP', 'livenessProbe: {tcpSocket: {port: 80}}'],
    [
      'TCP, no port',
      'livenessProbe: {tcpSocket: {port: 0}}',
      'livenessProbe.tcpSocket.port Invalid',
    ],
  ]);
});

describe('handlers', () => {
  const http = (fields: string): string => `livenessProbe: {httpGet: {${fields}}}`;
  const header = (name: string): string =>
    http(`port: web, httpHeaders: [{name: "${name}", value: v}]`);
  const at = 'livenessProbe.httpGet';
  table([
    ['a command', 'livenessProbe: {exec: {command: [echo]}}'],
    ['no command', 'livenessProbe: {exec: {command: []}}', 'livenessProbe.exec.command Required'],
    ['port 1', http('path: /, port: 1')],
    ['port 65535', http('path: /foo, port: 65535, host: host')],
    ['a port by name', http('path: /, port: web')],
    ['a header', header('Host')],
    [
      'a header twice',
      http('port: web, httpHeaders: [{name: X-A, value: "1"}, {name: X-A, value: "2"}]'),
    ],
    ['port 0', http('port: 0'), `${at}.port Invalid`],
    ['port 65536', http('path: /foo, port: 65536'), `${at}.port Invalid`],
    ['a port of no name', http('port: ""'), `${at}.port Invalid`, `${at}.port Invalid`],
    ['a header with a colon', header('Host:'), `${at}.httpHeaders Invalid`],
    ['a header with underscores', header('X_Forwarded_For'), `${at}.httpHeaders Invalid`],
    ['another scheme', http('port: 80, scheme: FTP'), `${at}.scheme NotSupported`],
  ]);

  const stop = (handler: string): string => `lifecycle: {preStop: {${handler}}}`;
  table([
    ['a hook', stop('exec: {command: [ls, -l]}')],
    ['no command of a hook', stop('exec: {}'), 'lifecycle.preStop.exec.command Required'],
    [
      'no port of a hook',
      stop('httpGet: {path: /, port: 0}'),
      'lifecycle.preStop.httpGet.port Invalid',
    ],
    [
      'no socket of a hook',
      stop('tcpSocket: {port: 0}'),
      'lifecycle.preStop.tcpSocket.port Invalid',
    ],
    ['a hook without a handler', stop(''), 'lifecycle.preStop Required'],
    [
      'a hook of two handlers',
      stop('exec: {command: [a]}, httpGet: {path: /, port: 80}'),
      'lifecycle.preStop.httpGet Forbidden',
    ],
    [
      'a hook that sleeps for less than nothing',
      stop('sleep: {seconds: -1}'),
      'lifecycle.preStop.sleep Invalid',
    ],
    [
      'both hooks',
      'lifecycle: {postStart: {exec: {}}, preStop: {}}',
      'lifecycle.postStart.exec.command Required',
      'lifecycle.preStop Required',
    ],
  ]);

  const sleep = (grace: string, seconds: number): string[] =>
    errorsIn(stop(`sleep: {seconds: ${seconds}}`), `\nterminationGracePeriodSeconds: ${grace}`);
  test.each<[grace: string, seconds: number, good: boolean]>([
    ['30', 30, true],
    ['30', 31, false],
    ['0', 0, true],
    ['0', 1, false],
    ['60', 31, true],
  ])('of %s seconds, %s are slept', (grace, seconds, good) => {
    expect(sleep(grace, seconds)).toEqual(good ? [] : ['lifecycle.preStop.sleep Invalid']);
  });
});

describe('resizes', () => {
  const policies = (...list: [name: string, policy: string][]): string =>
    `resizePolicy: [${list.map(([name, policy]) => `{resourceName: ${name}, restartPolicy: ${policy}}`).join(', ')}]`;
  const NO = 'NotRequired';
  const RESTART = 'RestartContainer';
  test.each<[restartPolicy: string, list: [string, string][], ...errors: string[]]>([
    [
      'Always',
      [
        ['cpu', NO],
        ['memory', RESTART],
      ],
    ],
    ['Always', [['cpu', RESTART]]],
    ['Always', [['memory', NO]]],
    ['Always', []],
    [
      'Always',
      [
        ['cpu', NO],
        ['memory', 'Restarrrt'],
      ],
      'resizePolicy NotSupported',
    ],
    [
      'Always',
      [
        ['cpu', 'RestartNotRequirrred'],
        ['memory', RESTART],
      ],
      'resizePolicy NotSupported',
    ],
    ['Always', [['cpuuu', NO]], 'resizePolicy NotSupported'],
    [
      'Always',
      [
        ['cpu', NO],
        ['memory', RESTART],
        ['cpu', RESTART],
      ],
      'resizePolicy[2] Duplicate',
    ],
    [
      'Never',
      [
        ['cpu', NO],
        ['memory', RESTART],
      ],
      'resizePolicy Invalid',
    ],
    [
      'Never',
      [
        ['cpu', RESTART],
        ['memory', NO],
      ],
      'resizePolicy Invalid',
    ],
    [
      'Never',
      [
        ['cpu', RESTART],
        ['memory', RESTART],
      ],
      'resizePolicy Invalid',
      'resizePolicy Invalid',
    ],
    [
      'Never',
      [
        ['cpu', NO],
        ['memory', NO],
      ],
    ],
  ])('%s: %j', (restartPolicy, list, ...errors) => {
    expect(errorsIn(policies(...list), `\nrestartPolicy: ${restartPolicy}`)).toEqual(errors);
  });
});

describe('ephemeral containers', () => {
  const VOLUMES_OF_TWO_KINDS =
    'volumes: [{name: blk, persistentVolumeClaim: {claimName: a}}, {name: vol, emptyDir: {}}]';
  const errorsOfAdding = (list: string, restartPolicy: string): string[] => {
    const spec =
      'containers: [{name: ctr, image: x}]\ninitContainers: [{name: ictr, image: x}]\n' +
      `${VOLUMES_OF_TWO_KINDS}\nrestartPolicy: ${restartPolicy}`;
    const added = validatePodEphemeralContainersUpdate(
      pod(`${spec}\nephemeralContainers: [${list}]`),
      pod(spec),
    );
    return short(added, 'spec.ephemeralContainers');
  };
  const debug = (fields: string): string => `{name: debug, image: x, ${fields}}`;
  test.each<[what: string, list: string, ...errors: string[]]>([
    ['none', ''],
    ['one', debug('')],
    ['two', '{name: debug1, image: x}, {name: debug2, image: x}'],
    ['with a target', debug('targetContainerName: ctr')],
    [
      'with all that may be',
      debug(
        'command: [bash], args: [bash], workingDir: /, envFrom: [{configMapRef: {name: d, ' +
          'optional: true}}], env: [{name: T, value: a}], volumeMounts: [{name: vol, ' +
          'mountPath: /vol}], volumeDevices: [{name: blk, devicePath: /dev/block}], ' +
          'terminationMessagePath: /dev/termination-log, ' +
          'securityContext: {capabilities: {add: [SYS_ADMIN]}}, stdin: true, ' +
          'stdinOnce: true, tty: true',
      ),
    ],
    ["a container's name", '{name: ctr, image: x}, {name: debug1, image: x}', '[0].name Duplicate'],
    [
      "an init container's name",
      '{name: ictr, image: x}, {name: debug1, image: x}',
      '[0].name Duplicate',
    ],
    ['one name twice', '{name: debug, image: x}, {name: debug, image: x}', '[1].name Duplicate'],
    ['nothing', '{}', '[0].name Required', '[0].image Required'],
    ['no name', '{image: x}', '[0].name Required'],
    ['white space around the image', '{name: debug, image: " x"}', '[0].image Invalid'],
    [
      'pulled somehow',
      debug('imagePullPolicy: PullThreeTimes'),
      '[0].imagePullPolicy NotSupported',
    ],
    [
      'a target that there is not',
      debug('targetContainerName: bogus'),
      '[0].targetContainerName NotFound',
    ],
    [
      'another one as its target',
      '{name: debug, image: x}, {name: d2, image: x, targetContainerName: debug}',
      '[1].targetContainerName NotFound',
    ],
    ['a hook', debug('lifecycle: {preStop: {exec: {command: [ls]}}}'), '[0].lifecycle Forbidden'],
    [
      'a hook that does nothing',
      debug('lifecycle: {preStop: {exec: {command: []}}}'),
      '[0].lifecycle Forbidden',
    ],
    ...['livenessProbe', 'readinessProbe', 'startupProbe'].map((kind): [string, string, string] => [
      kind,
      debug(`${kind}: {tcpSocket: {port: 80}}`),
      `[0].${kind} Forbidden`,
    ]),
    ['ports', debug('ports: [{containerPort: 80}]'), '[0].ports Forbidden'],
    ['resources', debug('resources: {limits: {cpu: 10}}'), '[0].resources Forbidden'],
    [
      'resizes',
      debug('resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]'),
      '[0].resizePolicy Forbidden',
    ],
    [
      'a part of a volume',
      debug(
        'volumeMounts: [{name: vol, mountPath: /vol}, {name: vol, mountPath: /sub, subPath: foo}]',
      ),
      '[0].volumeMounts[1].subPath Forbidden',
    ],
    [
      'a part of a volume by a variable',
      debug(
        'volumeMounts: [{name: vol, mountPath: /vol}, {name: vol, mountPath: /sub, subPathExpr: $(POD_NAME)}]',
      ),
      '[0].volumeMounts[1].subPathExpr Forbidden',
    ],
    ...['Always', 'OnFailure', 'Never', 'invalid', '""'].map((policy): [string, string, string] => [
      `restarted: ${policy}`,
      debug(`restartPolicy: ${policy}`),
      '[0].restartPolicy Forbidden',
    ]),
  ])('%s', (_what, list, ...errors) => {
    for (const restartPolicy of ['Always', 'OnFailure', 'Never'])
      expect(errorsOfAdding(list, restartPolicy)).toEqual(errors);
  });
});
