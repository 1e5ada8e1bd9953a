// Errors of resource quotas and limit ranges, with upstream's messages.

import { describe, expect, test } from 'vitest';

import { manifest, messages } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import * as validation from './index.ts';

describe('quotas', () => {
  const quota = (spec: string, status = '{}'): core.ResourceQuota =>
    manifest('core/v1.ResourceQuota', `metadata: {name: q}\nspec: ${spec}\nstatus: ${status}`);
  const NOT_STANDARD = 'must be a standard resource type or fully qualified';
  const NOT_QUOTA = 'must be a standard resource for quota';
  const SCOPES = 'spec.scopes: Invalid value: ';
  const EXPRESSIONS = 'spec.scopeSelector.matchExpressions';
  const MUST_EXIST =
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, " +
    'ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ' +
    'ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity';
  const selecting = (requirement: string, hard = '{pods: 1}'): string =>
    `{hard: ${hard}, scopeSelector: {matchExpressions: [${requirement}]}}`;

  test.each<[what: string, spec: string, errors: string[]]>([
    [
      'all kinds of things',
      '{hard: {cpu: 100, memory: 10000, requests.cpu: 100, limits.memory: 1, pods: 10, ' +
        'services: 0, replicationcontrollers: 10, secrets: 2, configmaps: 1, ' +
        'requests.storage: 1Gi, persistentvolumeclaims: 1, count/widgets.example.com: 5, ' +
        'hugepages-2Mi: 1, requests.hugepages-2Mi: 1, ' +
        'gold.storageclass.storage.k8s.io/requests.storage: 5}}',
      [],
    ],
    ['fractions of cores', '{hard: {cpu: 100m}}', []],
    [
      'terminating',
      '{hard: {cpu: 100, memory: 1, requests.cpu: 1, limits.cpu: 2}, scopes: [Terminating]}',
      [],
    ],
    ['best effort', '{hard: {pods: 100}, scopes: [BestEffort]}', []],
    [
      'of a priority',
      selecting('{scopeName: PriorityClass, operator: In, values: [a]}', '{cpu: 1}'),
      [],
    ],
    ['of any priority', selecting('{scopeName: PriorityClass, operator: Exists}'), []],
    [
      'across namespaces',
      selecting('{scopeName: CrossNamespacePodAffinity, operator: Exists}'),
      [],
    ],
    [
      'of attributes',
      selecting(
        '{scopeName: VolumeAttributesClass, operator: In, values: [gold]}',
        '{persistentvolumeclaims: 1, requests.storage: 1Gi}',
      ),
      [],
    ],
    [
      'less than nothing',
      '{hard: {cpu: "-100"}}',
      ['spec.hard[cpu]: Invalid value: "-100": must be greater than or equal to 0'],
    ],
    [
      'fractions of pods',
      '{hard: {pods: 1500m}}',
      ['spec.hard[pods]: Invalid value: "1500m": must be an integer'],
    ],
    [
      'what is not standard',
      '{hard: {apples: 1}}',
      [
        `spec.hard[apples]: Invalid value: "apples": ${NOT_STANDARD}`,
        `spec.hard[apples]: Invalid value: "apples": ${NOT_QUOTA}`,
      ],
    ],
    [
      'what no quota counts',
      '{hard: {storage: 1}}',
      [`spec.hard[storage]: Invalid value: "storage": ${NOT_QUOTA}`],
    ],
    [
      'an unknown scope',
      '{hard: {pods: 1}, scopes: [invalidScope]}',
      [`${SCOPES}["invalidScope"]: unsupported scope`],
    ],
    [
      'what a scope does not have',
      '{hard: {pods: 1, services: 1}, scopes: [Terminating]}',
      [`${SCOPES}["Terminating"]: unsupported scope applied to resource`],
    ],
    [
      'resources of best effort',
      '{hard: {pods: 1, cpu: 1}, scopes: [BestEffort]}',
      [`${SCOPES}["BestEffort"]: unsupported scope applied to resource`],
    ],
    [
      'contrary scopes',
      '{hard: {pods: 1}, scopes: [BestEffort, NotBestEffort]}',
      [`${SCOPES}["BestEffort","NotBestEffort"]: conflicting scopes`],
    ],
    [
      'other contrary scopes',
      '{hard: {pods: 1}, scopes: [Terminating, NotTerminating]}',
      [`${SCOPES}["Terminating","NotTerminating"]: conflicting scopes`],
    ],
    [
      'a selector of some that are best effort',
      selecting('{scopeName: BestEffort, operator: In, values: [a]}'),
      [`${EXPRESSIONS}.operator: Invalid value: "In": ${MUST_EXIST}`],
    ],
    [
      'a selector of no values',
      selecting('{scopeName: PriorityClass, operator: In}'),
      [
        `${EXPRESSIONS}.values: Required value: must be at least one value when ` +
          "`operator` is 'In' or 'NotIn' for scope selector",
      ],
    ],
    [
      'a selector of existing values',
      selecting('{scopeName: PriorityClass, operator: Exists, values: [a]}'),
      [
        `${EXPRESSIONS}.values: Invalid value: ["a"]: must be no value when \`operator\` ` +
          "is 'Exist' or 'DoesNotExist' for scope selector",
      ],
    ],
    [
      'a selector of an unknown operator',
      selecting('{scopeName: PriorityClass, operator: Like, values: [a]}'),
      [`${EXPRESSIONS}.operator: Invalid value: "Like": not a valid selector operator`],
    ],
    [
      'a selector of an unknown scope',
      selecting('{scopeName: Nonsense, operator: Exists}'),
      [`${EXPRESSIONS}.scopeName: Invalid value: "Nonsense": unsupported scope`],
    ],
    [
      'pods by attributes of volumes',
      selecting('{scopeName: VolumeAttributesClass, operator: Exists}'),
      [
        `${EXPRESSIONS}: Invalid value: ` +
          '{"matchExpressions":[{"scopeName":"VolumeAttributesClass","operator":"Exists"}]}: ' +
          'unsupported scope applied to resource',
      ],
    ],
    [
      'a selector of contraries',
      selecting(
        '{scopeName: BestEffort, operator: Exists}, {scopeName: NotBestEffort, operator: Exists}',
      ),
      [`${EXPRESSIONS}: Invalid value: null: conflicting scopes`],
    ],
  ])('%s', (_, spec, errors) => {
    expect(messages(validation.validateResourceQuota(quota(spec)))).toEqual(errors);
  });

  test.each<[what: string, old: string, now: string, errors: string[]]>([
    ['how much', '{hard: {pods: 1}}', '{hard: {pods: 2, cpu: 1}}', []],
    [
      'the order of scopes',
      '{scopes: [BestEffort, Terminating]}',
      '{scopes: [Terminating, BestEffort]}',
      [],
    ],
    [
      'scopes',
      '{scopes: [BestEffort]}',
      '{scopes: [Terminating]}',
      ['spec.scopes: Invalid value: ["Terminating"]: field is immutable'],
    ],
    [
      'no scopes any more',
      '{scopes: [BestEffort]}',
      '{}',
      ['spec.scopes: Invalid value: null: field is immutable'],
    ],
  ])('update: %s', (_, old, now, errors) => {
    expect(messages(validation.validateResourceQuotaUpdate(quota(now), quota(old)))).toEqual(
      errors,
    );
  });

  test('used amounts have the rules of limits', () => {
    const status = '{hard: {pods: 1}, used: {pods: "-1", apples: 1}}';
    expect(messages(validation.validateResourceQuotaStatus(quota('{}', status)))).toEqual([
      `status.used[apples]: Invalid value: "apples": ${NOT_STANDARD}`,
      `status.used[apples]: Invalid value: "apples": ${NOT_QUOTA}`,
      'status.used[pods]: Invalid value: "-1": must be greater than or equal to 0',
    ]);
  });
});

describe('limit ranges', () => {
  const AT = 'spec.limits[0]';
  test.each<[what: string, limits: string, errors: string[]]>([
    ['none', '', []],
    [
      'all types',
      '{type: Pod, max: {cpu: 100m, memory: 10000Mi}, min: {cpu: 5m}, ' +
        'maxLimitRequestRatio: {cpu: 10}}, {type: Container, max: {cpu: 100m}, ' +
        'min: {cpu: 5m}, default: {cpu: 50m}, defaultRequest: {cpu: 10m}, ' +
        'maxLimitRequestRatio: {cpu: 10}}, {type: PersistentVolumeClaim, ' +
        'max: {storage: 10Gi}, min: {storage: 5Gi}}',
      [],
    ],
    [
      'a type of others',
      '{type: thirdparty.com/foo, max: {thirdparty.com/foo: 10}, default: {cpu: 1}}',
      [],
    ],
    [
      'the same type twice',
      '{type: Pod}, {type: Pod}',
      ['spec.limits[1].type: Duplicate value: "Pod"'],
    ],
    [
      'an unknown type',
      '{type: foo}',
      [`${AT}.type: Invalid value: "foo": must be a standard limit type or fully qualified`],
    ],
    [
      'defaults of pods',
      '{type: Pod, default: {cpu: 1}, defaultRequest: {cpu: 1}}',
      [
        `${AT}.default: Forbidden: may not be specified when \`type\` is 'Pod'`,
        `${AT}.defaultRequest: Forbidden: may not be specified when \`type\` is 'Pod'`,
      ],
    ],
    [
      'what containers do not have',
      '{type: Container, max: {storage: 1}}',
      ['max', 'default', 'defaultRequest'].map(
        (list) =>
          `${AT}.${list}[storage]: Invalid value: "storage": must be a standard resource for containers`,
      ),
    ],
    [
      'more at least than at most',
      '{type: Pod, max: {cpu: 10m}, min: {cpu: 1000m}}',
      [`${AT}.min[cpu]: Invalid value: "1": min value 1 is greater than max value 10m`],
    ],
    [
      'a request of more than at most',
      '{type: Container, max: {cpu: 1}, default: {cpu: 1}, defaultRequest: {cpu: 2}}',
      [
        `${AT}.defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than max value 1`,
        `${AT}.defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than default limit value 1`,
      ],
    ],
    [
      'a request of less than at least',
      '{type: Container, min: {cpu: 2}, default: {cpu: 3}, defaultRequest: {cpu: 1}}',
      [
        `${AT}.defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than default request value 1`,
      ],
    ],
    [
      'a limit of more than at most',
      '{type: Container, max: {cpu: 1}, default: {cpu: 2}, defaultRequest: {cpu: 1}}',
      [`${AT}.default[cpu]: Invalid value: "1": default value 2 is greater than max value 1`],
    ],
    [
      'a limit of less than at least',
      '{type: Container, min: {cpu: 2}, default: {cpu: 1}, defaultRequest: {cpu: 2}}',
      [
        `${AT}.defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than default limit value 1`,
        `${AT}.default[cpu]: Invalid value: "2": min value 2 is greater than default value 1`,
      ],
    ],
    [
      'a ratio below 1',
      '{type: Pod, maxLimitRequestRatio: {cpu: 800m}}',
      [`${AT}.maxLimitRequestRatio[cpu]: Invalid value: "800m": ratio 800m is less than 1`],
    ],
    [
      'a ratio that cannot be',
      '{type: Pod, min: {cpu: 1}, max: {cpu: 2}, maxLimitRequestRatio: {cpu: 10}}',
      [
        `${AT}.maxLimitRequestRatio[cpu]: Invalid value: "10": ratio 10 is greater than max/min = 2.000000`,
      ],
    ],
    [
      'other defaults of what is not shared',
      '{type: Container, default: {example.com/gpu: 2}, defaultRequest: {example.com/gpu: 1}}',
      [
        `${AT}.defaultRequest[example.com/gpu]: Invalid value: "1": default value 2 must ` +
          'equal to defaultRequest value 1 in example.com/gpu',
      ],
    ],
    [
      'claims without bounds',
      '{type: PersistentVolumeClaim}',
      [
        `${AT}.limits: Required value: either minimum or maximum storage value is required, but neither was provided`,
      ],
    ],
    [
      'claims of more at least than at most',
      '{type: PersistentVolumeClaim, min: {storage: 10Gi}, max: {storage: 1Gi}}',
      [`${AT}.min[storage]: Invalid value: "10Gi": min value 10Gi is greater than max value 1Gi`],
    ],
  ])('%s', (_, limits, errors) => {
    const range = manifest<core.LimitRange>(
      'core/v1.LimitRange',
      `metadata: {name: l}\nspec: {limits: [${limits}]}`,
    );
    expect(messages(validation.validateLimitRange(range))).toEqual(errors);
  });
});
