// Updates of a pod: of its spec, and of the status that its node reports.

import { describe, expect, test } from 'vitest';

import { indent, manifest, messages } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { validatePodStatusUpdate, validatePodUpdate } from './index.ts';

const pod = (spec: string, more = ''): core.Pod =>
  manifest(
    'core/v1.Pod',
    `metadata: {name: p, namespace: default}\nspec:\n${indent(spec)}\n${more}`,
  );

const good = 'containers: [{name: c, image: x}]\ninitContainers: [{name: i, image: x}]';
const FIXED =
  'spec: Forbidden: pod updates may not change fields other than ' +
  '`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,' +
  '`spec.tolerations` (only additions to existing ' +
  'tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was ' +
  'previously negative)';

describe('spec', () => {
  const affinity = (terms: string): string =>
    `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [${terms}]}}}`;
  const a = '{matchExpressions: [{key: a, operator: Exists}]}';
  const ab = '{matchExpressions: [{key: a, operator: Exists}, {key: b, operator: Exists}]}';
  const b = '{matchExpressions: [{key: b, operator: Exists}]}';
  const gated = `${good}\nschedulingGates: [{name: g}]`;
  const terms =
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';

  test.each<[what: string, old: string, spec: string, errors: string[]]>([
    ['nothing', good, good, []],
    [
      'images may change',
      good,
      'containers: [{name: c, image: z, imagePullPolicy: Always}]\n' +
        'initContainers: [{name: i, image: z, imagePullPolicy: Always}]',
      [],
    ],
    [
      'an image may not go',
      good,
      'containers: [{name: c, imagePullPolicy: Always}]\ninitContainers: [{name: i, image: x}]',
      // One error for the spec, one for the change.
      ['spec.containers[0].image: Required value', 'spec.containers[0].image: Required value'],
    ],
    [
      'an image may not have white space around it',
      good,
      'containers: [{name: c, image: " x", imagePullPolicy: Always}]\ninitContainers: [{name: i, image: x}]',
      [
        'spec.containers[0].image: Invalid value: " x": must not have leading or trailing whitespace',
        'spec.containers[0].image: Invalid value: " x": must not have leading or trailing whitespace',
      ],
    ],
    [
      'the command may not change',
      good,
      'containers: [{name: c, image: x, command: [z]}]\ninitContainers: [{name: i, image: x}]',
      [FIXED],
    ],
    ['the node may not change', good, `${good}\nnodeName: n1`, [FIXED]],
    [
      'other errors are reported, too',
      good,
      `${good}\nnodeName: A`,
      expect.arrayContaining([FIXED, expect.stringMatching(/^spec.nodeName: Invalid value: "A"/)]),
    ],
    [
      'containers may not be added',
      good,
      'containers: [{name: c, image: x}, {name: d, image: x}]\ninitContainers: [{name: i, image: x}]',
      ['spec.containers: Forbidden: pod updates may not add or remove containers'],
    ],
    [
      'init containers may not be removed',
      good,
      'containers: [{name: c, image: x}]',
      ['spec.initContainers: Forbidden: pod updates may not add or remove containers'],
    ],
    ['a deadline may be set', good, `${good}\nactiveDeadlineSeconds: 5`, []],
    [
      'a deadline may come nearer',
      `${good}\nactiveDeadlineSeconds: 6`,
      `${good}\nactiveDeadlineSeconds: 5`,
      [],
    ],
    [
      'a deadline may not be put off',
      `${good}\nactiveDeadlineSeconds: 5`,
      `${good}\nactiveDeadlineSeconds: 6`,
      [
        'spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value',
      ],
    ],
    [
      'a deadline may not go',
      `${good}\nactiveDeadlineSeconds: 5`,
      good,
      [
        'spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value',
      ],
    ],
    [
      'tolerations may be added',
      `${good}\ntolerations: [{key: a, operator: Exists}]`,
      `${good}\ntolerations: [{key: b, operator: Exists}, {key: a, operator: Exists}]`,
      [],
    ],
    [
      'tolerations may last longer',
      `${good}\ntolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 1}]`,
      `${good}\ntolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 9}]`,
      [],
    ],
    [
      'tolerations may not go',
      `${good}\ntolerations: [{key: a, operator: Exists}]`,
      good,
      [
        'spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds',
      ],
    ],
    [
      'grace that was negative may become one second',
      `${good}\nterminationGracePeriodSeconds: -1`,
      `${good}\nterminationGracePeriodSeconds: 1`,
      [],
    ],
    ['grace may not change otherwise', good, `${good}\nterminationGracePeriodSeconds: 1`, [FIXED]],
    ['gates may open', gated, good, []],
    [
      'gates may not be added',
      gated,
      `${good}\nschedulingGates: [{name: g}, {name: h}]`,
      [
        "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'h'",
      ],
    ],
    ['behind a gate, nodes may be selected', gated, `${gated}\nnodeSelector: {a: b}`, []],
    [
      'behind a gate, a selection may not be widened',
      `${gated}\nnodeSelector: {a: b}`,
      `${gated}\nnodeSelector: {c: d}`,
      [
        'spec.nodeSelector: Invalid value: {"c":"d"}: only additions to spec.nodeSelector ' +
          'are allowed (no mutations or deletions)',
      ],
    ],
    ['without a gate, nodes may not be selected', good, `${good}\nnodeSelector: {a: b}`, [FIXED]],
    ['behind a gate, an affinity may be set', gated, `${gated}\n${affinity(a)}`, []],
    [
      'behind a gate, an affinity may be narrowed',
      `${gated}\n${affinity(a)}`,
      `${gated}\n${affinity(ab)}`,
      [],
    ],
    [
      'behind a gate, an affinity may not be widened',
      `${gated}\n${affinity(ab)}`,
      `${gated}\n${affinity(a)}`,
      [
        `${terms}[0]: Invalid value: ` +
          '{"matchExpressions":[{"key":"a","operator":"Exists"}]}: only additions are ' +
          'allowed (no mutations or deletions)',
      ],
    ],
    [
      'behind a gate, an affinity has no more terms',
      `${gated}\n${affinity(a)}`,
      `${gated}\n${affinity(`${a}, ${b}`)}`,
      [
        `${terms}: Invalid value: ` +
          '[{"matchExpressions":[{"key":"a","operator":"Exists"}]},{"matchExpressions":' +
          '[{"key":"b","operator":"Exists"}]}]: no additions/deletions to non-empty ' +
          'NodeSelectorTerms list are allowed',
      ],
    ],
    [
      'behind a gate, an affinity may not go',
      `${gated}\n${affinity(a)}`,
      gated,
      [
        `${terms}: Invalid value: []: no additions/deletions to non-empty NodeSelectorTerms list are allowed`,
      ],
    ],
    ['without a gate, an affinity may not be set', good, `${good}\n${affinity(a)}`, [FIXED]],
  ])('%s', (_, old, spec, errors) => {
    expect(messages(validatePodUpdate(pod(spec), pod(old)))).toEqual(errors);
  });

  test.each<[old: object | undefined, annotations: object | undefined, errors: string[]]>([
    [undefined, { a: 'b' }, []],
    [
      undefined,
      { 'kubernetes.io/config.mirror': 'x' },
      [
        'metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation',
      ],
    ],
    [
      { 'kubernetes.io/config.mirror': 'x' },
      undefined,
      [
        'metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation',
      ],
    ],
  ])('a pod of a file stays one: from %j to %j', (old, annotations, errors) => {
    const withAnnotations = (given: object | undefined): core.Pod => {
      const made = pod(`${good}\nnodeName: n1`);
      return given === undefined
        ? made
        : { ...made, metadata: { ...made.metadata, annotations: given as Record<string, string> } };
    };
    expect(messages(validatePodUpdate(withAnnotations(annotations), withAnnotations(old)))).toEqual(
      errors,
    );
  });
});

describe('mutable fields', () => {
  const changes = (spec: string, old: string): string[] =>
    validatePodUpdate(pod(spec), pod(old)).map(
      ({ field, type }) => `${field} ${type.replace('FieldValue', '')}`,
    );
  const NO = 'spec Forbidden';
  const GATED = 'schedulingGates: [{name: g}]';
  const TERMS =
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  const required = (...terms: string[]): string =>
    'affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ' +
    `{nodeSelectorTerms: [${terms.join(', ')}]}}}`;
  const preferred = (expressions: string, fields = ''): string =>
    'affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: ' +
    `1, preference: {matchExpressions: [${expressions}], matchFields: [${fields}]}}]}}`;
  const term = (expressions: string, fields = ''): string =>
    `{matchExpressions: [${expressions}], matchFields: [${fields}]}`;
  const FOO = '{key: expr, operator: In, values: [foo]}';
  const BAR = '{key: expr, operator: In, values: [bar]}';
  const FOO2 = '{key: expr2, operator: In, values: [foo2]}';
  const NODE = '{key: metadata.name, operator: In, values: [foo]}';
  const OTHER_NODE = '{key: metadata.name, operator: In, values: [bar]}';
  const pods = (kind: string): string =>
    `affinity: {${kind}: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: ` +
    'foo, labelSelector: {matchLabels: {foo: bar}}}]}}';

  test.each<[what: string, old: string, spec: string, ...errors: string[]]>([
    ['a selector of nodes', '', 'nodeSelector: {foo: bar}', NO],
    ['a selector of nodes less', 'nodeSelector: {foo: bar}', '', NO],
    ['a selector of nodes, gated', GATED, `${GATED}\nnodeSelector: {foo: bar}`],
    [
      'a selector of nodes more, gated',
      `${GATED}\nnodeSelector: {foo: bar}`,
      `${GATED}\nnodeSelector: {foo: bar, foo2: bar2}`,
    ],
    [
      'a selector of nodes more, no longer gated',
      `${GATED}\nnodeSelector: {foo: bar}`,
      'nodeSelector: {foo: bar, foo2: bar2}',
    ],
    [
      'a selector of nodes less, gated',
      `${GATED}\nnodeSelector: {foo: bar}`,
      GATED,
      'spec.nodeSelector Invalid',
    ],
    [
      'another selector of nodes, gated',
      `${GATED}\nnodeSelector: {foo: bar}`,
      `${GATED}\nnodeSelector: {foo: new}`,
      'spec.nodeSelector Invalid',
    ],
    [
      'narrower',
      `${GATED}\n${required(term(FOO))}`,
      `${GATED}\n${required(term(`${FOO}, ${FOO2}`, NODE))}`,
    ],
    [
      'narrower, no longer gated',
      `${GATED}\n${required(term(FOO))}`,
      required(term(`${FOO}, ${FOO2}`, NODE)),
    ],
    ['narrower, not gated', required(term(FOO)), required(term(`${FOO}, ${FOO2}`, NODE)), NO],
    ['from nothing', GATED, `${GATED}\n${required(term(FOO))}`],
    [
      'to nothing',
      `${GATED}\n${required(term(FOO))}`,
      `${GATED}\naffinity: {nodeAffinity: {}}`,
      `${TERMS} Invalid`,
    ],
    [
      'to no affinity',
      `${GATED}\n${required(term(FOO))}`,
      `${GATED}\naffinity: {}`,
      `${TERMS} Invalid`,
    ],
    [
      'other kinds of terms',
      `${GATED}\n${required(term(FOO))}`,
      `${GATED}\n${required(term('', NODE))}`,
      `${TERMS}[0] Invalid`,
    ],
    [
      'fields less',
      `${GATED}\n${required(term(FOO, NODE))}`,
      `${GATED}\n${required(term(FOO))}`,
      `${TERMS}[0] Invalid`,
    ],
    [
      'another label',
      `${GATED}\n${required(term(FOO, NODE))}`,
      `${GATED}\n${required(term(BAR, NODE))}`,
      `${TERMS}[0] Invalid`,
    ],
    [
      'another field',
      `${GATED}\n${required(term(FOO, NODE))}`,
      `${GATED}\n${required(term(FOO, OTHER_NODE))}`,
      `${TERMS}[0] Invalid`,
    ],
    [
      'another term',
      `${GATED}\n${required(term(FOO))}`,
      `${GATED}\n${required(term(FOO), term(FOO2))}`,
      `${TERMS} Invalid`,
    ],
    [
      'from no nodes to some',
      `${GATED}\n${required('{}')}`,
      `${GATED}\n${required(term(FOO))}`,
      `${TERMS}[0] Invalid`,
    ],
    ['preferences', `${GATED}\n${preferred(FOO)}`, `${GATED}\n${preferred(BAR)}`],
    [
      'more preferences',
      `${GATED}\n${preferred(FOO)}`,
      `${GATED}\n${preferred(`${FOO}, ${FOO2}`, NODE)}`,
    ],
    ['no preferences', `${GATED}\n${preferred(FOO)}`, GATED],
    ['other pods', GATED, `${GATED}\n${pods('podAffinity')}`, NO],
    ['pods to be far from', GATED, `${GATED}\n${pods('podAntiAffinity')}`, NO],
    [
      'labels that no node has, since it was stored so',
      `${GATED}\n${required(term(FOO.replace('foo', '"-1"')))}`,
      required(term(FOO.replace('foo', '"-1"'))),
    ],
    [
      'labels that no node has',
      `${GATED}\n${required(term(BAR))}`,
      `${GATED}\n${required(term(BAR.replace('bar', '"-1"')))}`,
      `${TERMS}[0].matchExpressions[0].values[0] Invalid`,
      `${TERMS}[0] Invalid`,
    ],
    ['a gate', '', GATED, 'spec.schedulingGates[0].name Forbidden'],
    [
      'another gate',
      GATED,
      'schedulingGates: [{name: bar}]',
      'spec.schedulingGates[0].name Forbidden',
    ],
    [
      'another gate for two',
      'schedulingGates: [{name: foo}, {name: bar}]',
      'schedulingGates: [{name: baz}]',
      'spec.schedulingGates[0].name Forbidden',
    ],
    [
      'one gate less',
      'schedulingGates: [{name: foo}, {name: bar}]',
      'schedulingGates: [{name: bar}]',
    ],
    ['no grace', 'terminationGracePeriodSeconds: -1', 'terminationGracePeriodSeconds: 0', NO],
    ['a deadline nearer', 'activeDeadlineSeconds: 31', 'activeDeadlineSeconds: 30'],
    [
      'a deadline, negative',
      '',
      'activeDeadlineSeconds: -30',
      'spec.activeDeadlineSeconds Invalid',
      'spec.activeDeadlineSeconds Invalid',
    ],
    [
      'a deadline that becomes negative',
      'activeDeadlineSeconds: 30',
      'activeDeadlineSeconds: -30',
      'spec.activeDeadlineSeconds Invalid',
      'spec.activeDeadlineSeconds Invalid',
    ],
    ['a deadline of zero', '', 'activeDeadlineSeconds: 0', 'spec.activeDeadlineSeconds Invalid'],
    [
      'a deadline that becomes zero',
      'activeDeadlineSeconds: 30',
      'activeDeadlineSeconds: 0',
      'spec.activeDeadlineSeconds Invalid',
    ],
    [
      'a priority',
      'nodeName: n1\npriorityClassName: foo',
      'nodeName: n1\npriorityClassName: bar',
      NO,
    ],
    ['no priority', 'nodeName: n1\npriorityClassName: foo', 'nodeName: n1', NO],
    ['the node', 'nodeName: n1', '', NO],
    ['groups', '', 'securityContext: {fsGroupChangePolicy: OnRootMismatch}', NO],
    ['the system', 'os: {name: windows}', 'os: {name: linux}', NO],
    ['to no system', '', 'os: {name: dummy}', 'spec.os NotSupported', NO],
    [
      'the system, with what it has not',
      'os: {name: linux}\nsecurityContext: {seLinuxOptions: {role: r}}',
      'os: {name: windows}\nsecurityContext: {seLinuxOptions: {role: r}}',
      'spec.securityContext.seLinuxOptions Forbidden',
      NO,
    ],
    [
      'a toleration',
      'nodeName: n1\ntolerations: [{key: k, value: a}]',
      'nodeName: n1\ntolerations: [{key: k, value: b}]',
      'spec.tolerations Forbidden',
    ],
    [
      'a toleration before there is a node',
      'tolerations: [{key: k, value: a}]',
      'tolerations: [{key: k, value: b}]',
      'spec.tolerations Forbidden',
    ],
    [
      'a toleration, and for how long',
      'tolerations: [{key: k, value: a, effect: NoExecute, tolerationSeconds: 10}]',
      'tolerations: [{key: k, value: b, effect: NoExecute}]',
      'spec.tolerations Forbidden',
    ],
    [
      'for how long',
      'tolerations: [{key: k, value: a, effect: NoExecute, tolerationSeconds: 20}]',
      'tolerations: [{key: k, value: a, effect: NoExecute, tolerationSeconds: 10}]',
    ],
    [
      'a toleration more',
      'tolerations: [{key: k, value: a, effect: NoExecute, tolerationSeconds: 10}]',
      'tolerations: [{key: k, value: a, effect: NoExecute, tolerationSeconds: 20}, ' +
        '{key: l, value: b, effect: NoExecute, tolerationSeconds: 30}]',
    ],
    [
      'a bad toleration more',
      'tolerations: [{key: k, value: a, effect: NoExecute, tolerationSeconds: 10}]',
      'tolerations: [{key: k, value: a, effect: NoExecute, tolerationSeconds: 20}, ' +
        '{key: l, value: b, effect: NoSchedule, tolerationSeconds: 30}]',
      'spec.tolerations[1].effect Invalid',
      'spec.tolerations[1].effect Invalid',
    ],
    ['resources of the whole', '', 'resources: {limits: {cpu: 1}}', NO],
    ['a debug container', '', 'ephemeralContainers: [{name: d, image: x}]', NO],
  ])('%s', (_, old, spec, ...errors) => {
    expect(changes(`${good}\n${spec}`, `${good}\n${old}`)).toEqual(errors);
  });

  const amounts = (requests: string, limits: string): string =>
    `containers: [{name: c, image: x, resources: {requests: {${requests}}, limits: {${limits}}}}]`;
  test.each<[what: string, old: string, spec: string]>([
    ['more CPU', amounts('', 'cpu: 100m, memory: 0'), amounts('', 'cpu: 200m, memory: 0')],
    [
      'less memory',
      amounts('', 'cpu: 100m, memory: 200Mi'),
      amounts('', 'cpu: 100m, memory: 100Mi'),
    ],
    ['less storage', amounts('', 'ephemeral-storage: 2Gi'), amounts('', 'ephemeral-storage: 1Gi')],
    ['less CPU asked for', amounts('cpu: 200m', ''), amounts('cpu: 100m', '')],
    ['more memory asked for', amounts('memory: 100Mi', ''), amounts('memory: 200Mi', '')],
    [
      'more storage asked for',
      amounts('ephemeral-storage: 1Gi', ''),
      amounts('ephemeral-storage: 2Gi', ''),
    ],
    [
      'more of all',
      amounts('cpu: 100m, memory: 100Mi', 'cpu: 100m, memory: 100Mi'),
      amounts('cpu: 200m, memory: 200Mi', 'cpu: 200m, memory: 200Mi'),
    ],
    ['limits where there were none', amounts('cpu: 100m', ''), amounts('cpu: 100m', 'cpu: 200m')],
    ['no limits any more', amounts('cpu: 100m', 'cpu: 200m'), amounts('cpu: 100m', '')],
    ['anything where there was nothing', amounts('', ''), amounts('cpu: 100m', 'cpu: 200m')],
    ['nothing any more', amounts('cpu: 100m', 'cpu: 200m'), amounts('', '')],
    [
      'another port of the host',
      'containers: [{name: c, image: x, ports: [{containerPort: 80, hostPort: 8000}]}]',
      'containers: [{name: c, image: x, ports: [{containerPort: 80, hostPort: 8080}]}]',
    ],
  ])('but not what it gets: %s', (_, old, spec) => {
    expect(changes(spec, old)).toEqual([NO]);
  });
});

describe('reports of a node', () => {
  const given = (status: string, spec = good): core.Pod => pod(spec, `status: {${status}}`);
  const errorsOf = (now: core.Pod, old: core.Pod): string[] =>
    validatePodStatusUpdate(now, old).map(
      ({ field, type }) => `${field} ${type.replace('FieldValue', '')}`,
    );
  const change = (status: string, old = '', spec = good): string[] =>
    errorsOf(given(status, spec), given(old, spec));

  const BOUND = `${good}\nnodeName: n1`;
  test.each<[spec: string, old: string, now: string, ...errors: string[]]>([
    [good, '', 'node1'],
    [good, 'node1', ''],
    [good, '', 'Node1', 'status.nominatedNodeName Invalid'],
    [BOUND, 'node2', ''],
    [BOUND, 'node2', 'node2'],
    [BOUND, '', 'node2', 'status.nominatedNodeName Forbidden'],
    [BOUND, '', 'n1', 'status.nominatedNodeName Forbidden'],
    [BOUND, 'node2', 'node3', 'status.nominatedNodeName Forbidden'],
    [BOUND, 'node2', 'n1', 'status.nominatedNodeName Forbidden'],
  ])('of %j, nominated for "%s", then for "%s"', (spec, old, now, ...errors) => {
    expect(change(`nominatedNodeName: "${now}"`, `nominatedNodeName: "${old}"`, spec)).toEqual(
      errors,
    );
  });

  const WAITS = '{waiting: {reason: PodInitializing}}';
  const RUNS = '{running: {startedAt: "2026-01-01T00:00:00Z"}}';
  const ENDED = '{terminated: {exitCode: 0, reason: Completed}}';
  const of = (list: string, name: string, state: string): string =>
    `${list}: [{name: ${name}, image: x, state: ${state}}]`;
  const MAIN = of('containerStatuses', 'c', RUNS);
  test.each<[what: string, old: string, now: string]>([
    [
      'they wait',
      '',
      `${of('initContainerStatuses', 'i', WAITS)}, ${of('containerStatuses', 'c', WAITS)}`,
    ],
    [
      'they run',
      `${of('initContainerStatuses', 'i', WAITS)}, ${of('containerStatuses', 'c', WAITS)}`,
      `${of('initContainerStatuses', 'i', ENDED)}, ${MAIN}`,
    ],
    ['another is there', MAIN, `${MAIN}, ${of('ephemeralContainerStatuses', 'd', WAITS)}`],
    [
      'it runs',
      `${MAIN}, ${of('ephemeralContainerStatuses', 'd', WAITS)}`,
      `${MAIN}, ${of('ephemeralContainerStatuses', 'd', RUNS)}`,
    ],
    [
      'it ends',
      `${MAIN}, ${of('ephemeralContainerStatuses', 'd', RUNS)}`,
      `${MAIN}, ${of('ephemeralContainerStatuses', 'd', ENDED)}`,
    ],
    [
      'all end',
      `${MAIN}, ${of('ephemeralContainerStatuses', 'd', RUNS)}`,
      `${of('containerStatuses', 'c', ENDED)}, ${of('ephemeralContainerStatuses', 'd', ENDED)}`,
    ],
    ['the same class', 'qosClass: Burstable', 'qosClass: Burstable'],
    ['all restart', '', 'conditions: [{type: AllContainersRestarting, status: "True"}]'],
    [
      'a generation',
      '',
      'observedGeneration: 1, conditions: [{type: PodScheduled, status: "True", observedGeneration: 1}]',
    ],
    [
      'two conditions of others',
      '',
      'conditions: [{type: foobar, status: "True"}, {type: example.com/condition, status: "False"}]',
    ],
  ])('%s', (_, old, now) => {
    expect(change(now, old)).toEqual([]);
  });

  const withInit = (more: string, podPolicy: string): string =>
    `containers: [{name: c, image: x}]\ninitContainers: [{name: i, image: x${more}}]\nrestartPolicy: ${podPolicy}`;
  const RULE = (operator: string, action = 'Restart'): string =>
    `restartPolicy: Never, restartPolicyRules: [{action: ${action}, exitCodes: {operator: ${operator}, values: [42]}}]`;
  const CODE = (code: number): string => `{terminated: {exitCode: ${code}}}`;
  const DEAD = (list: string): string => `status.${list}[0].state Forbidden`;
  test.each<
    [what: string, spec: string, list: string, name: string, old: string, ...errors: string[]]
  >([
    [
      'an init container',
      withInit('', 'Never'),
      'initContainerStatuses',
      'i',
      ENDED,
      DEAD('initContainerStatuses'),
    ],
    ...['Never', 'OnFailure', 'Always'].map((policy): [string, string, string, string, string] => [
      `a sidecar of a pod that restarts: ${policy}`,
      withInit(', restartPolicy: Always', policy),
      'initContainerStatuses',
      'i',
      ENDED,
    ]),
    [
      'an init container, tried again',
      withInit('', 'OnFailure'),
      'initContainerStatuses',
      'i',
      CODE(1),
    ],
    [
      'one whose rules say so',
      `containers: [{name: c, image: x, ${RULE('In')}}]`,
      'containerStatuses',
      'c',
      CODE(42),
    ],
    [
      'one whose rules do not',
      `containers: [{name: c, image: x, ${RULE('In')}}]`,
      'containerStatuses',
      'c',
      CODE(41),
      DEAD('containerStatuses'),
    ],
    [
      'one whose rules exclude others',
      `containers: [{name: c, image: x, ${RULE('NotIn')}}]`,
      'containerStatuses',
      'c',
      CODE(41),
    ],
    [
      'one whose rules exclude it',
      `containers: [{name: c, image: x, ${RULE('NotIn')}}]`,
      'containerStatuses',
      'c',
      CODE(42),
      DEAD('containerStatuses'),
    ],
    [
      'one beside one that takes all with it',
      'containers: [{name: c, image: x, restartPolicy: Never}, {name: d, image: x, ' +
        `${RULE('In', 'RestartAllContainers')}}]\nrestartPolicy: Never`,
      'containerStatuses',
      'c',
      ENDED,
    ],
    [
      'an init container beside one that takes all with it',
      `containers: [{name: d, image: x, ${RULE('In', 'RestartAllContainers')}}]\n` +
        'initContainers: [{name: i, image: x}]\nrestartPolicy: Never',
      'initContainerStatuses',
      'i',
      ENDED,
    ],
    [
      'an ephemeral one beside one that takes all with it',
      `containers: [{name: d, image: x, ${RULE('In', 'RestartAllContainers')}}]`,
      'ephemeralContainerStatuses',
      'e',
      ENDED,
      DEAD('ephemeralContainerStatuses'),
    ],
  ])('runs again: %s', (_, spec, list, name, old, ...errors) => {
    expect(change(of(list, name, RUNS), of(list, name, old), spec)).toEqual(errors);
  });

  const CLAIMS =
    `${good}\nresourceClaims: [{name: a, resourceClaimTemplateName: t}, {name: b, ` +
    'resourceClaimTemplateName: t}]';
  test.each<[statuses: string, ...errors: string[]]>([
    ['{name: a, resourceClaimName: p-a-12345}, {name: b}'],
    ['{name: z, resourceClaimName: a}', 'status.resourceClaimStatuses[0].name Invalid'],
    ['{name: a, resourceClaimName: "%$!#"}', 'status.resourceClaimStatuses[0].name Invalid'],
    ['{name: a}, {name: b}, {name: b}', 'status.resourceClaimStatuses[2].name Duplicate'],
  ])('claims: %s', (statuses, ...errors) => {
    expect(change(`resourceClaimStatuses: [${statuses}]`, '', CLAIMS)).toEqual(errors);
  });

  const GPU = 'resources: {requests: {example.com/gpu: 1}, limits: {example.com/gpu: 1}}';
  const GPUS = `containers: [{name: c, image: x, ${GPU}}]\ninitContainers: [{name: i, image: x, ${GPU}}]`;
  const mapping = (
    container = 'c',
    resource = 'example.com/gpu',
    request = 'container-0-request-0',
  ): string => `{containerName: ${container}, resourceName: ${resource}, requestName: ${request}}`;
  const extended = (mappings: string, name = 'xyz'): string =>
    `extendedResourceClaimStatus: {resourceClaimName: ${name}, requestMappings: [${mappings}]}`;
  const at = 'status.extendedResourceClaimStatus';
  test.each<[what: string, status: string, ...errors: string[]]>([
    ['a container', extended(mapping())],
    ['an init container', extended(mapping('i'))],
    ['none', extended(''), `${at}.requestMappings Required`],
    [
      'one twice',
      extended(`${mapping()}, ${mapping()}`),
      ...['containerName', 'resourceName', 'requestName'].map(
        (name) => `${at}.requestMappings[1].${name} Duplicate`,
      ),
    ],
    [
      'two requests of one',
      extended(`${mapping()}, ${mapping('c', 'example.com/gpu', 'container-1-request-0')}`),
    ],
    [
      'no such container',
      extended(mapping('abc')),
      `${at}.requestMappings[0].containerName Invalid`,
    ],
    [
      'no such resource',
      extended(mapping('c', 'example.com/cpu')),
      `${at}.requestMappings[0].resourceName Invalid`,
    ],
    [
      'a bad request',
      extended(mapping('c', 'example.com/gpu', 'example.com')),
      `${at}.requestName Invalid`,
    ],
    ['a bad claim', extended(mapping(), 'xyz/abc'), `${at}.resourceClaimName Invalid`],
  ])('devices by name: %s', (_, status, ...errors) => {
    expect(change(status, '', GPUS)).toEqual(errors);
  });

  test.each(['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'])(
    'users of %s',
    (list) => {
      const user = (fields: string, os = ''): string[] =>
        change(
          `${list}: [{name: c, user: {${fields}}}]`,
          '',
          `${good}${os === '' ? '' : `\nos: {name: ${os}}`}`,
        );
      expect(user('')).toEqual([]);
      expect(user('linux: {uid: 0, gid: 0, supplementalGroups: [0, 100]}')).toEqual([]);
      expect(user('linux: {uid: -1, gid: -1, supplementalGroups: [-1]}')).toEqual(
        ['uid', 'gid', 'supplementalGroups[0]'].map(
          (name) => `status.${list}[0].user.linux.${name} Invalid`,
        ),
      );
      expect(user('linux: {uid: 0, gid: 0}', 'windows')).toEqual([
        `status.${list}[0].user.linux Forbidden`,
      ]);
    },
  );

  test.each<[what: string, old: string, now: string, ...errors: string[]]>([
    [
      'an address with zeroes',
      '',
      'podIPs: [{ip: 010.0.0.1}], hostIP: 010.0.0.1, hostIPs: [{ip: 010.0.0.1}]',
      'status.podIPs[0] Invalid',
      'status.hostIPs[0] Invalid',
    ],
    ['one that was there before', 'podIPs: [{ip: 010.0.0.1}]', 'podIPs: [{ip: 010.0.0.1}]'],
    ['two of one family', '', 'podIPs: [{ip: 10.0.0.1}, {ip: 10.0.0.2}]', 'status.podIPs Invalid'],
    [
      'three',
      '',
      'podIPs: [{ip: 10.0.0.1}, {ip: "fd00::1"}, {ip: 10.0.0.2}]',
      'status.podIPs Invalid',
    ],
  ])('addresses: %s', (_, old, now, ...errors) => {
    expect(change(now, old)).toEqual(errors);
  });
});

describe('status', () => {
  const status = (fields: string, spec = good): core.Pod => pod(spec, `status: {${fields}}`);
  const errorsOf = (fields: string, old = '', spec = good): string[] =>
    messages(validatePodStatusUpdate(status(fields, spec), status(old, spec)));

  const ended = '{name: c, state: {terminated: {exitCode: 0}}}';
  const failed = '{name: c, state: {terminated: {exitCode: 1}}}';
  const runs = '{name: c, state: {running: {}}}';
  const STATE = 'may not be transitioned to non-terminated state';
  test.each<[what: string, spec: string, old: string, now: string, errors: string[]]>([
    [
      'a container that is always restarted runs again',
      good,
      `containerStatuses: [${ended}]`,
      `containerStatuses: [${runs}]`,
      [],
    ],
    [
      'one that ended for good does not',
      `${good}\nrestartPolicy: Never`,
      `containerStatuses: [${ended}]`,
      `containerStatuses: [{name: d}, ${runs}]`,
      [`status.containerStatuses[0].state: Forbidden: ${STATE}`],
    ],
    [
      'one that failed is tried again',
      `${good}\nrestartPolicy: OnFailure`,
      `containerStatuses: [${failed}]`,
      `containerStatuses: [${runs}]`,
      [],
    ],
    [
      'one that succeeded is not',
      `${good}\nrestartPolicy: OnFailure`,
      `containerStatuses: [${ended}]`,
      `containerStatuses: [${runs}]`,
      [`status.containerStatuses[0].state: Forbidden: ${STATE}`],
    ],
    [
      'a policy of its own counts more',
      'containers: [{name: c, image: x, restartPolicy: OnFailure}]\nrestartPolicy: Never',
      `containerStatuses: [${failed}]`,
      `containerStatuses: [${runs}]`,
      [],
    ],
    [
      'a sidecar runs again',
      'containers: [{name: d, image: x}]\ninitContainers: [{name: c, image: x, ' +
        'restartPolicy: Always}]\nrestartPolicy: Never',
      `initContainerStatuses: [${ended}]`,
      `initContainerStatuses: [${runs}]`,
      [],
    ],
    [
      'an init container does not',
      'containers: [{name: d, image: x}]\ninitContainers: [{name: c, image: x}]\nrestartPolicy: Never',
      `initContainerStatuses: [${ended}]`,
      `initContainerStatuses: [${runs}]`,
      [`status.initContainerStatuses[0].state: Forbidden: ${STATE}`],
    ],
    [
      'an ephemeral container never does',
      good,
      `ephemeralContainerStatuses: [${failed}]`,
      `ephemeralContainerStatuses: [${runs}]`,
      [`status.ephemeralContainerStatuses[0].state: Forbidden: ${STATE}`],
    ],
    [
      'one may be forgotten',
      `${good}\nrestartPolicy: Never`,
      `containerStatuses: [${ended}]`,
      '',
      [],
    ],
  ])('%s', (_, spec, old, now, errors) => {
    expect(errorsOf(now, old, spec)).toEqual(errors);
  });

  test.each<[what: string, old: string, now: string, errors: string[]]>([
    [
      'conditions of others have qualified names',
      '',
      'conditions: [{type: Ready, status: "True"}, {type: a.b/c, status: "True"}]',
      [],
    ],
    [
      'impossible conditions',
      '',
      'conditions: [{type: "a b", status: "True", observedGeneration: -1}]',
      [
        'status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer',
        expect.stringMatching(
          /^status\.conditions\[0\]\.Type: Invalid value: "a b": name part must consist/,
        ),
      ],
    ],
    [
      'quality of service is for ever',
      'qosClass: Burstable',
      'qosClass: Guaranteed',
      ['status.qosClass: Invalid value: "Guaranteed": field is immutable'],
    ],
    [
      'the generation that was seen',
      '',
      'observedGeneration: -1',
      ['status.observedGeneration: Invalid value: -1: must be a non-negative integer'],
    ],
    [
      'a nominated node',
      '',
      'nominatedNodeName: A',
      [
        expect.stringMatching(
          /^status\.nominatedNodeName: Invalid value: "A": a lowercase RFC 1123 subdomain/,
        ),
      ],
    ],
    [
      'addresses',
      '',
      'podIPs: [{ip: 10.0.0.1}, {ip: 10.0.0.1}, {ip: x}]',
      [
        'status.podIPs[2]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.1"},{"IP":"x"}]: ' +
          'may specify no more than one IP for each IP family',
      ],
    ],
    [
      'addresses of two families',
      '',
      'podIPs: [{ip: 10.0.0.1}, {ip: "fd00::1"}], hostIP: 10.0.0.2, hostIPs: [{ip: 10.0.0.2}, {ip: "fd00::2"}]',
      [],
    ],
    [
      "the host's addresses",
      '',
      'hostIP: 10.0.0.2, hostIPs: [{ip: 10.0.0.3}]',
      ['status.hostIPs[0].ip: Invalid value: "10.0.0.3": must be equal to `hostIP`'],
    ],
    [
      'claims that there are not',
      '',
      'resourceClaimStatuses: [{name: a}, {name: a}]',
      [
        'status.resourceClaimStatuses[0].name: Invalid value: "a": must match the name of ' +
          'an entry in `spec.resourceClaims`',
        'status.resourceClaimStatuses[1].name: Invalid value: "a": must match the name of ' +
          'an entry in `spec.resourceClaims`',
        'status.resourceClaimStatuses[1].name: Duplicate value: "a"',
      ],
    ],
    [
      'users',
      '',
      'containerStatuses: [{name: c, user: {linux: {uid: -1, gid: 0, supplementalGroups: [-2]}}}]',
      [
        'status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive',
        'status.containerStatuses[0].user.linux.supplementalGroups[0]: Invalid value: -2: ' +
          'must be between 0 and 2147483647, inclusive',
      ],
    ],
    [
      'devices',
      '',
      'containerStatuses: [{name: c, allocatedResourcesStatus: [{name: gpu, ' +
        'resources: [{resourceID: a, health: Fine}, {resourceID: a, health: Healthy}]}]}]',
      [
        'status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: ' +
          '"gpu": must match one of the container\'s resource requests',
        'status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: ' +
          'Unsupported value: "Fine": supported values: "Healthy", "Unhealthy", "Unknown"',
        'status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID: Duplicate value: "a"',
      ],
    ],
  ])('%s', (_, old, now, errors) => {
    expect(errorsOf(now, old)).toEqual(errors);
  });

  test('the node cannot be set', () => {
    expect(messages(validatePodStatusUpdate(pod(`${good}\nnodeName: n1`), pod(good)))).toEqual([
      'status.nodeName: Forbidden: may not be changed directly',
    ]);
  });
});
