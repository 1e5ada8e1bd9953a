// What may become of a pod once it is there: of its spec, and of what its node says of it.

import { describe, expect, test } from 'vitest';

import { indent, manifest, messages } from '../../../testing/manifest.ts';
import type * as core from '../types.ts';
import { validatePodStatusUpdate, validatePodUpdate } from './index.ts';

const pod = (spec: string, more = ''): core.Pod =>
  manifest('core/v1.Pod', `metadata: {name: p, namespace: default}\nspec:\n${indent(spec)}\n${more}`);

const good = 'containers: [{name: c, image: x}]\ninitContainers: [{name: i, image: x}]';
const FIXED =
  'spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

describe('spec', () => {
  const affinity = (terms: string): string =>
    `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [${terms}]}}}`;
  const a = '{matchExpressions: [{key: a, operator: Exists}]}';
  const ab = '{matchExpressions: [{key: a, operator: Exists}, {key: b, operator: Exists}]}';
  const b = '{matchExpressions: [{key: b, operator: Exists}]}';
  const gated = `${good}\nschedulingGates: [{name: g}]`;
  const terms = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';

  test.each<[what: string, old: string, spec: string, errors: string[]]>([
    ['nothing', good, good, []],
    [
      'images may change',
      good,
      'containers: [{name: c, image: z, imagePullPolicy: Always}]\ninitContainers: [{name: i, image: z, imagePullPolicy: Always}]',
      [],
    ],
    [
      'an image may not go',
      good,
      'containers: [{name: c, imagePullPolicy: Always}]\ninitContainers: [{name: i, image: x}]',
      // Once for the spec, once for the change.
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
      'what is wrong is told, too',
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
    ['a deadline may come nearer', `${good}\nactiveDeadlineSeconds: 6`, `${good}\nactiveDeadlineSeconds: 5`, []],
    [
      'a deadline may not be put off',
      `${good}\nactiveDeadlineSeconds: 5`,
      `${good}\nactiveDeadlineSeconds: 6`,
      ['spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value'],
    ],
    [
      'a deadline may not go',
      `${good}\nactiveDeadlineSeconds: 5`,
      good,
      ['spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value'],
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
      ['spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds'],
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
      ["spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'h'"],
    ],
    ['behind a gate, nodes may be selected', gated, `${gated}\nnodeSelector: {a: b}`, []],
    [
      'behind a gate, a selection may not be widened',
      `${gated}\nnodeSelector: {a: b}`,
      `${gated}\nnodeSelector: {c: d}`,
      [
        'spec.nodeSelector: Invalid value: {"c":"d"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
      ],
    ],
    ['without a gate, nodes may not be selected', good, `${good}\nnodeSelector: {a: b}`, [FIXED]],
    ['behind a gate, an affinity may be set', gated, `${gated}\n${affinity(a)}`, []],
    ['behind a gate, an affinity may be narrowed', `${gated}\n${affinity(a)}`, `${gated}\n${affinity(ab)}`, []],
    [
      'behind a gate, an affinity may not be widened',
      `${gated}\n${affinity(ab)}`,
      `${gated}\n${affinity(a)}`,
      [
        `${terms}[0]: Invalid value: {"matchExpressions":[{"key":"a","operator":"Exists"}]}: only additions are allowed (no mutations or deletions)`,
      ],
    ],
    [
      'behind a gate, an affinity has no more terms',
      `${gated}\n${affinity(a)}`,
      `${gated}\n${affinity(`${a}, ${b}`)}`,
      [
        `${terms}: Invalid value: [{"matchExpressions":[{"key":"a","operator":"Exists"}]},{"matchExpressions":[{"key":"b","operator":"Exists"}]}]: no additions/deletions to non-empty NodeSelectorTerms list are allowed`,
      ],
    ],
    [
      'behind a gate, an affinity may not go',
      `${gated}\n${affinity(a)}`,
      gated,
      [`${terms}: Invalid value: []: no additions/deletions to non-empty NodeSelectorTerms list are allowed`],
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
      ['metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation'],
    ],
    [
      { 'kubernetes.io/config.mirror': 'x' },
      undefined,
      ['metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation'],
    ],
  ])('a pod of a file stays one: from %j to %j', (old, annotations, errors) => {
    const withAnnotations = (given: object | undefined): core.Pod => {
      const made = pod(`${good}\nnodeName: n1`);
      return given === undefined
        ? made
        : { ...made, metadata: { ...made.metadata, annotations: given as Record<string, string> } };
    };
    expect(messages(validatePodUpdate(withAnnotations(annotations), withAnnotations(old)))).toEqual(errors);
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
      'containers: [{name: d, image: x}]\ninitContainers: [{name: c, image: x, restartPolicy: Always}]\nrestartPolicy: Never',
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
    ['one may be forgotten', `${good}\nrestartPolicy: Never`, `containerStatuses: [${ended}]`, '', []],
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
        expect.stringMatching(/^status\.conditions\[0\]\.Type: Invalid value: "a b": name part must consist/),
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
      [expect.stringMatching(/^status\.nominatedNodeName: Invalid value: "A": a lowercase RFC 1123 subdomain/)],
    ],
    [
      'addresses',
      '',
      'podIPs: [{ip: 10.0.0.1}, {ip: 10.0.0.1}, {ip: x}]',
      [
        'status.podIPs[2]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.1"},{"IP":"x"}]: may specify no more than one IP for each IP family',
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
        'status.resourceClaimStatuses[0].name: Invalid value: "a": must match the name of an entry in `spec.resourceClaims`',
        'status.resourceClaimStatuses[1].name: Invalid value: "a": must match the name of an entry in `spec.resourceClaims`',
        'status.resourceClaimStatuses[1].name: Duplicate value: "a"',
      ],
    ],
    [
      'users',
      '',
      'containerStatuses: [{name: c, user: {linux: {uid: -1, gid: 0, supplementalGroups: [-2]}}}]',
      [
        'status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive',
        'status.containerStatuses[0].user.linux.supplementalGroups[0]: Invalid value: -2: must be between 0 and 2147483647, inclusive',
      ],
    ],
    [
      'devices',
      '',
      'containerStatuses: [{name: c, allocatedResourcesStatus: [{name: gpu, resources: [{resourceID: a, health: Fine}, {resourceID: a, health: Healthy}]}]}]',
      [
        'status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "gpu": must match one of the container\'s resource requests',
        'status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Unsupported value: "Fine": supported values: "Healthy", "Unhealthy", "Unknown"',
        'status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID: Duplicate value: "a"',
      ],
    ],
  ])('%s', (_, old, now, errors) => {
    expect(errorsOf(now, old)).toEqual(errors);
  });

  test('the node is not set here', () => {
    expect(messages(validatePodStatusUpdate(pod(`${good}\nnodeName: n1`), pod(good)))).toEqual([
      'status.nodeName: Forbidden: may not be changed directly',
    ]);
  });
});
